#include "cli/inspect_container.h"

#include "cli/command.h"
#include "object/review.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELF.h>
#include <nlohmann/json.hpp>

namespace asmevo::cli {

namespace {

using nlohmann::ordered_json;
using object::BundleEntry;
using object::BundlePlace;
using object::CodeObject;
using object::Container;
using object::ContainerKind;
using object::OpenBundle;

std::string kindOf(const Container& container) {
  switch (container.kind()) {
  case ContainerKind::codeObject:
    return "code object";
  case ContainerKind::bundles:
    return "offload bundle";
  case ContainerKind::archive:
    return "archive";
  case ContainerKind::hostElf:
    break;
  }
  const auto type = container.host()->header().e_type;
  return type == llvm::ELF::ET_REL    ? "host object"
         : type == llvm::ELF::ET_DYN  ? "host program or library"
         : type == llvm::ELF::ET_EXEC ? "host program"
                                      : "host file";
}

std::string compressionOf(const BundlePlace& place) {
  if (!place.compressed)
    return place.isCodeObject ? "code object" : "plain";
  return fmt::format("CCOB v{} {}, {} bytes uncompressed", place.compressed->version, place.compressed->methodName(),
                     place.compressed->uncompressedSize);
}

std::string safeText(const std::string& text) {
  std::string safe;
  for (const char c : text)
    safe += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return safe;
}

/// A device object, or why it cannot be read as one.
Result<CodeObject> objectOf(const Container& container, const OpenBundle& bundle, std::size_t index,
                            const BundleEntry& entry) {
  ASMEVO_TRY(Bytes bytes, bundle.read(entry));
  if (bytes.size() >= 4 && bytes[0] == 'B' && bytes[1] == 'C' && bytes[2] == 0xc0 && bytes[3] == 0xde)
    return asmevo::badInput("LLVM bitcode: the program was not linked for the device");
  return CodeObject::parse(std::move(bytes), fmt::format("{}#{}", container.source().name(), index));
}

/// Walks everything in a container. The listener decides on the form of what is printed.
template <class Listener> int walk(const Container& container, Listener& listener) {
  int code = ok;
  const auto report = [&](const Error& error) {
    code = fail(error, {container.source().name()});
    return error.message;
  };
  for (std::size_t i = 0; i < container.bundles().size(); ++i) {
    const auto bundle = container.openBundle(i);
    if (!bundle) {
      listener.damaged(i, container.bundles()[i], report(bundle.error()));
      continue;
    }
    listener.bundle(i, container.bundles()[i], *bundle);
    for (std::size_t e = 0; e < bundle->entries().size(); ++e) {
      const BundleEntry& entry = bundle->entries()[e];
      if (entry.size == 0 || (!entry.isDevice() && !container.bundles()[i].isCodeObject)) {
        listener.hostEntry(e, entry);
        continue;
      }
      const auto object = objectOf(container, *bundle, i, entry);
      if (object)
        listener.object(e, entry, *object);
      else
        listener.damagedObject(e, entry, report(object.error()));
    }
    listener.endBundle();
  }
  return code;
}

class TextListener {
 public:
  explicit TextListener(bool leaveKernelsOut) : brief(leaveKernelsOut) {}

  void damaged(std::size_t index, const BundlePlace& place, const std::string& why) {
    fmt::print("\nbundle {} at 0x{:x}: {}\n", index, place.offset, safeText(why));
  }
  void bundle(std::size_t index, const BundlePlace& place, const OpenBundle&) {
    fmt::print("\nbundle {} at 0x{:x}, {} bytes, {}", index, place.offset, place.size, compressionOf(place));
    if (place.address)
      fmt::print(", address 0x{:x}{}", *place.address, place.registered ? "" : ", not registered");
    if (!place.member.empty())
      fmt::print(", member {}", safeText(place.member));
    fmt::print("\n");
  }
  void hostEntry(std::size_t index, const BundleEntry& entry) {
    fmt::print("  entry {}: {}, {} bytes\n", index, safeText(entry.id), entry.size);
  }
  void object(std::size_t index, const BundleEntry& entry, const CodeObject& object) {
    const std::size_t kernels = object.kernels().size();
    fmt::print("  entry {}: {}, {} bytes, code object v{} for {}, {} kernel{}\n", index, safeText(entry.id), entry.size,
               object.abiVersion() + 2U, object.target().id(), kernels, kernels == 1 ? "" : "s");
    if (brief)
      return;
    for (const object::Kernel& kernel : object.kernels())
      fmt::print("    {:>3} VGPRs {:>3} SGPRs {:>6} LDS {:>5} scratch {:>2} waves  {}\n",
                 kernel.descriptor.allocatedVgprs(object.target()), kernel.descriptor.allocatedSgprs(object.target()),
                 kernel.descriptor.groupSegmentSize(), kernel.descriptor.privateSegmentSize(),
                 occupancyOf(object.target(), kernel).wavesPerSimd, safeText(kernel.name));
  }
  void damagedObject(std::size_t index, const BundleEntry& entry, const std::string& why) {
    fmt::print("  entry {}: {}, {} bytes: {}\n", index, safeText(entry.id), entry.size, safeText(why));
  }
  void endBundle() {}

 private:
  bool brief;
};

/// Holds one bundle's JSON at a time.
class JsonListener {
 public:
  explicit JsonListener(bool leaveKernelsOut) : brief(leaveKernelsOut) {}

  void damaged(std::size_t index, const BundlePlace& place, const std::string& why) {
    begin(index, place);
    current["error"] = why;
    endBundle();
  }
  void bundle(std::size_t index, const BundlePlace& place, const OpenBundle&) { begin(index, place); }
  void hostEntry(std::size_t index, const BundleEntry& entry) { current["entries"].push_back(head(index, entry)); }
  void object(std::size_t index, const BundleEntry& entry, const CodeObject& object) {
    ordered_json json = head(index, entry);
    json["target"] = object.target().id();
    json["code_object_version"] = object.abiVersion() + 2U;
    json["sha256"] = sha256Hex(object.bytes());
    json["kernel_count"] = object.kernels().size();
    if (!brief) {
      json["kernels"] = ordered_json::array();
      for (const object::Kernel& kernel : object.kernels())
        json["kernels"].push_back({{"name", kernel.name},
                                   {"vgprs", kernel.descriptor.allocatedVgprs(object.target())},
                                   {"sgprs", kernel.descriptor.allocatedSgprs(object.target())},
                                   {"lds_bytes", kernel.descriptor.groupSegmentSize()},
                                   {"scratch_bytes", kernel.descriptor.privateSegmentSize()},
                                   {"waves_per_simd", occupancyOf(object.target(), kernel).wavesPerSimd}});
    }
    current["entries"].push_back(std::move(json));
  }
  void damagedObject(std::size_t index, const BundleEntry& entry, const std::string& why) {
    ordered_json json = head(index, entry);
    json["error"] = why;
    current["entries"].push_back(std::move(json));
  }
  void endBundle() {
    fmt::print("{}{}", first ? "" : ",\n", current.dump(1, ' ', false, ordered_json::error_handler_t::replace));
    first = false;
    current = {};
  }

 private:
  static ordered_json head(std::size_t index, const BundleEntry& entry) {
    return {{"entry", index}, {"id", entry.id}, {"offset", entry.offset}, {"bytes", entry.size}};
  }
  void begin(std::size_t index, const BundlePlace& place) {
    current = {{"bundle", index}, {"offset", place.offset}, {"bytes", place.size}, {"room", place.room}};
    if (place.compressed)
      current["compressed"] = {{"version", place.compressed->version},
                               {"method", place.compressed->methodName()},
                               {"uncompressed_bytes", place.compressed->uncompressedSize}};
    if (place.address) {
      current["address"] = *place.address;
      current["registered"] = place.registered;
    }
    if (!place.member.empty())
      current["member"] = place.member;
    current["entries"] = ordered_json::array();
  }

  bool brief;
  bool first = true;
  ordered_json current;
};

} // namespace

int listContainer(const Container& container, bool brief) {
  const std::size_t count = container.bundles().size();
  fmt::print("{}\n  {}, {} bytes, {} bundle{}\n", container.source().name(), kindOf(container),
             container.source().size(), count, count == 1 ? "" : "s");
  for (const std::string& remark : container.remarks())
    fmt::print("  warning: {}\n", safeText(remark));
  TextListener listener(brief);
  return walk(container, listener);
}

int listContainerJson(const Container& container, bool brief) {
  const ordered_json head = {{"file", container.source().name()},
                             {"container", kindOf(container)},
                             {"bytes", container.source().size()},
                             {"bundle_count", container.bundles().size()},
                             {"warnings", container.remarks()}};
  std::string text = head.dump(1, ' ', false, ordered_json::error_handler_t::replace);
  text.resize(text.rfind('}'));
  fmt::print("{}, \"bundles\": [\n", text);
  JsonListener listener(brief);
  const int code = walk(container, listener);
  fmt::print("]}}");
  return code;
}

} // namespace asmevo::cli
