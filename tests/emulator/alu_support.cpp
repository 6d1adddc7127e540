#include "emulator/alu_support.h"

namespace asmevo::emulator {

std::string levelName(SimdLevel level) {
  return atLevel<const char*>(level, "scalar", "avx2", "avx512");
}

AluRig::AluRig(SimdLevel simd) : level(simd) {
  object::Target target;
  target.processor = "gfx942";
  auto created = isa::Codec::create(target);
  EXPECT_TRUE(created) << created.error().message;
  codec = std::move(*created);
  wave.vgpr = registers->lanes[0];
  wave.vgprCount = vgprs;
  wave.mode = 0x3f0;
  wave.setPair(isa::sreg::execLo, ~std::uint64_t{0});
  for (unsigned reg = 0; reg < vgprs; ++reg)
    for (unsigned lane = 0; lane < 64; ++lane)
      v(reg, lane) = 0x1000 * reg + lane;
}

void AluRig::run(const std::vector<std::string>& lines, bool gprIndexing) {
  Arena arena;
  BindContext context;
  context.simd = level;
  context.arena = &arena;
  context.gprIndexing = gprIndexing;
  std::vector<Op> ops(lines.size() + 1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto inst = codec->assemble(lines[i]);
    ASSERT_TRUE(inst) << lines[i] << ": " << inst.error().message;
    const Status bound = bindAlu(**inst, context, ops[i]);
    ASSERT_TRUE(bound) << bound.error().message;
  }
  ops.back().fn = [](Wave&, const Op*) {};
  wave.stop = Stop::running;
  wave.runStart = ops.data();
  ops[0].fn(wave, ops.data());
  ASSERT_EQ(wave.stop, Stop::running) << wave.faultMessage;
}

std::string AluRig::refusal(const std::string& line) {
  Arena arena;
  BindContext context;
  context.simd = level;
  context.arena = &arena;
  const auto inst = codec->assemble(line);
  EXPECT_TRUE(inst) << line << ": " << inst.error().message;
  Op op;
  const Status bound = bindAlu(**inst, context, op);
  return bound ? "" : bound.error().message;
}

} // namespace asmevo::emulator
