#include "verify/verify_support.h"

#include <stdexcept>

namespace asmevo::tests {

namespace {

template <class T> T value(Result<T> result) {
  if (!result)
    throw std::runtime_error(result.error().message);
  return *std::move(result);
}

} // namespace

object::CodeObject kernelObject(const std::string& name) {
  return value(object::CodeObject::load(ASMEVO_BINARY_DIR "/kernels/" + name + ".co"));
}

std::string kernelDispatchPath(const std::string& name) {
  return ASMEVO_SOURCE_DIR "/kernels/" + name + ".dispatch.json";
}

dispatch::Dispatch kernelDispatch(const std::string& name) {
  return value(dispatch::loadDispatch(kernelDispatchPath(name)));
}

device::Device& simulator() {
  static const std::unique_ptr<device::Device> device = value(device::makeSimulator("mi300x"));
  return *device;
}

Editable::Editable(object::CodeObject o) : object(std::move(o)) {
  codec = value(isa::Codec::create(object.target()));
  program = value(program::Program::recover(object, *codec));
}

Editable::Place Editable::find(const std::string& base, std::size_t n) const {
  for (program::BlockId block = 0; block < program.blocks.size(); ++block)
    for (std::size_t i = 0; i < program.blocks[block].instrs.size(); ++i)
      if (program.blocks[block].reachable && program.blocks[block].instrs[i].inst->base == base && n-- == 0)
        return {block, i};
  throw std::runtime_error("no " + base + " in " + object.name());
}

void Editable::replace(Place place, const std::string& text) {
  program::Instr& instr = at(place);
  instr.inst = value(codec->assemble(text));
}

void Editable::insert(Place place, const std::string& text) {
  auto& instrs = program.blocks[place.block].instrs;
  program::Instr instr;
  instr.inst = value(codec->assemble(text));
  instrs.insert(instrs.begin() + static_cast<std::ptrdiff_t>(place.index), instr);
}

void Editable::erase(Place place) {
  auto& instrs = program.blocks[place.block].instrs;
  instrs.erase(instrs.begin() + static_cast<std::ptrdiff_t>(place.index));
}

object::CodeObject Editable::rebuilt() const {
  return value(object::CodeObject::parse(value(program::rebuild(object, program, *codec)), "K1"));
}

object::CodeObject edited(const object::CodeObject& k0, const std::function<void(Editable&)>& edit) {
  Editable editable(k0);
  edit(editable);
  return editable.rebuilt();
}

} // namespace asmevo::tests
