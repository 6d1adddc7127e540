#include "optimize/optimize.h"
#include "optimize/search/pricing.h"

namespace asmevo::optimize {

verify::Level capped(verify::Level level, const std::vector<std::string>& assumptions) {
  return assumptions.empty() || level != verify::Level::proved ? level : verify::Level::exact;
}

Result<double> modelledCycles(const object::CodeObject& object, const dispatch::Dispatch& dispatch,
                              device::Device& device) {
  return Pricer(device, dispatch, 0).cycles(object);
}

Result<Judgement> judge(const object::CodeObject& k0, const object::CodeObject& from, const program::Program& candidate,
                        const dispatch::Dispatch& dispatch, device::Device& device, isa::Codec& codec,
                        const Options& options) {
  Judgement judgement;
  auto bytes =
      options.inPlace ? program::patchInPlace(from, candidate, codec) : program::rebuild(from, candidate, codec);
  if (!bytes) {
    judgement.verdict.level = verify::Level::refused;
    judgement.message = bytes.error().message;
    return judgement;
  }
  judgement.bytes = *std::move(bytes);
  ASMEVO_TRY(const auto object, object::CodeObject::parse(judgement.bytes, k0.name()));
  ASMEVO_TRY(judgement.verdict, verify::verify(k0, object, dispatch, device, options.verify));
  if (!verify::accepted(judgement.verdict.level)) {
    judgement.message = judgement.verdict.reason;
    return judgement;
  }
  ASMEVO_TRY(judgement.cycles, modelledCycles(object, options.timed.value_or(dispatch), device));
  return judgement;
}

} // namespace asmevo::optimize
