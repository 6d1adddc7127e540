#include "isa/registers.h"

#include <fmt/format.h>

namespace asmevo::isa {

namespace {

struct NamedUnit {
  RegUnit unit;
  const char* name;
};

constexpr NamedUnit namedUnits[] = {
    {sreg::flatScratchLo, "flat_scratch_lo"},
    {sreg::flatScratchHi, "flat_scratch_hi"},
    {sreg::xnackMaskLo, "xnack_mask_lo"},
    {sreg::xnackMaskHi, "xnack_mask_hi"},
    {sreg::vccLo, "vcc_lo"},
    {sreg::vccHi, "vcc_hi"},
    {sreg::m0, "m0"},
    {sreg::execLo, "exec_lo"},
    {sreg::execHi, "exec_hi"},
    {sreg::scc, "scc"},
    {sreg::mode, "mode"},
    {sreg::hwreg, "hwreg"},
};

} // namespace

std::string regUnitName(RegUnit unit) {
  if (unit >= vgprBase)
    return fmt::format("v{}", unit - vgprBase);
  for (const auto& named : namedUnits)
    if (named.unit == unit)
      return named.name;
  if (unit >= sreg::ttmp0 && unit < sreg::m0)
    return fmt::format("ttmp{}", unit - sreg::ttmp0);
  return fmt::format("s{}", unit);
}

} // namespace asmevo::isa
