#include "optimize/optimize_support.h"

#include "verify/verify_support.h"

#include <algorithm>
#include <stdexcept>

namespace asmevo::tests {

namespace {

template <class T> T value(Result<T> result) {
  if (!result)
    throw std::runtime_error(result.error().message);
  return *std::move(result);
}

} // namespace

MoveFixture::MoveFixture(object::CodeObject codeObject, dispatch::Dispatch launches)
    : object(std::move(codeObject)), dispatch(std::move(launches)), codec(value(isa::Codec::create(object.target()))),
      program(value(program::Program::recover(object, *codec))) {
  const auto& launch = dispatch.cases.front();
  kernel = value(object.findKernel(launch.kernel));
  profile = value(value(simulator().load(object, launch.kernel))->time(launch));
  windows = optimize::rankWindows(object, program, *kernel, profile);
}

optimize::MoveContext MoveFixture::context() const {
  const auto& size = dispatch.cases.front().workgroupSize;
  return {object,
          *kernel,
          *codec,
          profile,
          windows,
          kernel->descriptor.accumOffset(object.target()),
          size[0] * size[1] * size[2]};
}

object::CodeObject MoveFixture::rebuilt(const program::Program& edited) const {
  return value(object::CodeObject::parse(value(program::rebuild(object, edited, *codec)), object.name()));
}

std::vector<std::string> MoveFixture::lines(const program::Program& of) const {
  std::vector<std::string> result;
  const auto* function = of.functionOf(static_cast<std::size_t>(kernel - object.kernels().data()));
  for (const program::BlockId id : function->blocks)
    for (const auto& instr : of.blocks[id].instrs)
      result.push_back(instr.inst->isBranch() ? instr.inst->mnemonic : codec->complete(instr.inst)->text);
  return result;
}

dispatch::Dispatch textDispatch(unsigned workgroups) {
  return value(dispatch::parseDispatch(
      fmt::format(R"({{"asmevo_dispatch": 1, "kernel": "k", "workgroup_size": [64, 1, 1], "grid_size": [{}, 1, 1],
                      "buffers": {{"out": {{"dtype": "u32", "shape": [1048576], "init": "zero"}}}},
                      "args": [{{"buffer": "out"}}]}})",
                  workgroups * 64),
      ".", "text"));
}

program::test::KernelText bodyOf(const std::string& lines) {
  return {R"(
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx2 s[6:7], s[2:3], 0x400
  s_waitcnt lgkmcnt(0)
)" + lines +
          "\n  s_endpgm\n"};
}

object::CodeObject assembledObject(const std::string& file) {
  return value(object::CodeObject::parse(program::test::assembleFile(file), "k.co"));
}

std::unique_ptr<MoveFixture> textFixture(const std::string& lines) {
  return std::make_unique<MoveFixture>(assembledObject(program::test::kernelFile(bodyOf(lines))), textDispatch());
}

std::size_t position(const std::vector<std::string>& lines, const std::string& prefix, std::size_t from) {
  const auto at = std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(std::min(from, lines.size())), lines.end(),
                               [&](const std::string& line) { return line.starts_with(prefix); });
  return static_cast<std::size_t>(at - lines.begin());
}

} // namespace asmevo::tests
