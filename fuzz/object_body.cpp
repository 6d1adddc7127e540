#include "object_body.h"

#include "isa/codec.h"
#include "object/code_object.h"
#include "object/container.h"
#include "object/replace.h"
#include "object/review.h"
#include "program/program.h"

#include <algorithm>
#include <map>
#include <memory>

namespace asmevo::fuzz {

namespace {

/// Codecs intern what they decode: one is dropped once it holds the instructions of this many inputs.
constexpr unsigned inputsPerCodec = 2000;

isa::Codec* codecFor(const object::Target& target) {
  struct Entry {
    std::unique_ptr<isa::Codec> codec;
    unsigned uses = 0;
  };
  static std::map<std::string, Entry> codecs;
  Entry& entry = codecs[target.id()];
  if (!entry.codec || ++entry.uses > inputsPerCodec) {
    auto made = isa::Codec::create(target);
    if (!made)
      return nullptr;
    entry = {std::move(*made), 0};
  }
  return entry.codec.get();
}

std::string checkCodeObject(std::span<const std::uint8_t> input) {
  const auto object = object::CodeObject::parse(Bytes(input.begin(), input.end()), "fuzz");
  if (!object)
    return object.error().message.empty() ? "a refusal without a message" : "";
  object::review(*object);
  isa::Codec* codec = codecFor(object->target());
  if (codec == nullptr)
    return "";
  auto program = program::Program::recover(*object, *codec);
  if (!program)
    return "";
  const auto same = program::rebuild(*object, *program, *codec);
  if (same && !std::ranges::equal(*same, input))
    return "an unedited program rebuilds to other bytes";
  const auto patched = program::patchInPlace(*object, *program, *codec);
  if (patched && !std::ranges::equal(*patched, input))
    return "an unedited program patches to other bytes";
  const auto text = program::printAssembly(*object, *program, *codec);
  if (text && text->empty())
    return "an empty listing";

  const auto nop = codec->assemble("s_nop 0");
  if (!nop)
    return "";
  for (program::Block& block : program->blocks)
    if (!block.opaque) {
      program::Instr padding;
      padding.inst = *nop;
      block.instrs.insert(block.instrs.begin(), padding);
    }
  const auto grown = program::rebuild(*object, *program, *codec);
  if (!grown)
    return "";
  const auto again = object::CodeObject::parse(*grown, "grown");
  if (!again)
    return "a grown object does not parse: " + again.error().message;
  if (again->kernels().size() != object->kernels().size())
    return "a grown object has other kernels";
  return "";
}

/// Work on one input is bounded: what lies behind is more of the same.
constexpr std::size_t mostObjects = 4;
constexpr std::uint64_t largestObject = 1 << 16;

} // namespace

std::string checkObject(std::span<const std::uint8_t> input) {
  const auto container = object::Container::read(ByteSource::of(Bytes(input.begin(), input.end()), "fuzz"));
  if (!container)
    return checkCodeObject(input);
  const auto objects = object::selectObjects(*container, {});
  if (!objects)
    return objects.error().message.empty() ? "a refusal without a message" : "";
  std::size_t seen = 0;
  for (const object::DeviceObject& device : *objects) {
    if (device.info.size > largestObject || ++seen > mostObjects)
      continue;
    auto chosen = object::readObject(*container, device);
    if (!chosen)
      continue;
    if (std::string wrong = checkCodeObject(chosen->bytes); !wrong.empty())
      return wrong;
    const auto code = object::CodeObject::parse(std::move(chosen->bytes), "device object");
    if (!code || container->bundles()[device.bundle].compressed)
      continue;
    const auto same = object::replaceObject(*container, device, *code);
    if (!same)
      continue;
    const auto file = same->file.materialize(container->source());
    if (file && !std::ranges::equal(*file, input))
      return "replacing an object by itself changes the container";
  }
  return "";
}

} // namespace asmevo::fuzz
