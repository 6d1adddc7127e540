/// Where a dispatch stands under the roofs of its chip: floating-point work, and each unit's rate against its peak.
#pragma once

#include "timing/parameters.h"
#include "timing/timing.h"
#include "timing/traffic.h"

namespace asmevo::timing {

/// Operations of one execution with all 64 lanes: 2 for a multiply-add, 2 M N K for a matrix instruction (integer and
/// sparse ones too, at the shape in their name); 0 for what computes no floating-point value.
double flopsOf(const isa::Instruction& inst);

/// Fills mallHitRate, scalarHitRate and fetchHitRate.
void addHitRates(Estimate& estimate, const Traffic& traffic);

/// Fills flops, vectorRequests, vectorSectors and resources of a finished estimate at its clock. Rates per CU are of
/// the CUs that get workgroups.
void addResources(Estimate& estimate, const Parameters& p, const std::vector<isa::InstRef>& code);

} // namespace asmevo::timing
