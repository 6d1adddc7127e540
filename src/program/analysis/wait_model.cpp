#include "program/analysis/wait_model.h"

#include "isa/waitcnt.h"

#include <utility>

namespace asmevo::program {

namespace {

using isa::InstClass;
using isa::Instruction;
using Generation = WaitModel::Generation;

constexpr std::size_t slot(Counter counter) {
  return static_cast<std::size_t>(counter);
}

constexpr unsigned ones(unsigned bits) {
  return (1u << bits) - 1;
}

struct CounterBits {
  Counter counter;
  unsigned bits;
};

std::vector<CounterBits> countersOf(Generation generation) {
  switch (generation) {
  case Generation::gfx9:
    return {{Counter::vm, 6}, {Counter::lgkm, 4}, {Counter::exp, 3}};
  case Generation::gfx10:
  case Generation::gfx11:
    return {{Counter::vm, 6}, {Counter::lgkm, 6}, {Counter::exp, 3}, {Counter::store, 6}};
  case Generation::gfx12:
    return {{Counter::vm, 6},     {Counter::lgkm, 6}, {Counter::exp, 3}, {Counter::store, 6},
            {Counter::sample, 6}, {Counter::bvh, 3},  {Counter::km, 5}};
  }
  return {};
}

/// The immediate of s_waitcnt: low bit and width of each field, of vmcnt a second one with its upper bits.
struct WaitcntFields {
  unsigned vmLow, vmLowBits, vmHigh, vmHighBits, exp, lgkm, lgkmBits;
};
constexpr WaitcntFields gfx9Fields{0, 4, 14, 2, 4, 8, 4}, gfx10Fields{0, 4, 14, 2, 4, 8, 6},
    gfx11Fields{10, 6, 16, 0, 0, 4, 6};

constexpr std::string_view gfx12Names[waitCounterCount] = {"loadcnt",   "dscnt",  "expcnt", "storecnt",
                                                           "samplecnt", "bvhcnt", "kmcnt"};
constexpr std::string_view olderNames[waitCounterCount] = {"vmcnt", "lgkmcnt", "expcnt", "vscnt", "", "", ""};

/// Single counter waits of gfx10 and later, by mnemonic.
constexpr std::pair<std::string_view, Counter> singleWaits[] = {
    {"s_waitcnt_vmcnt", Counter::vm},    {"s_waitcnt_lgkmcnt", Counter::lgkm}, {"s_waitcnt_expcnt", Counter::exp},
    {"s_waitcnt_vscnt", Counter::store}, {"s_wait_loadcnt", Counter::vm},      {"s_wait_dscnt", Counter::lgkm},
    {"s_wait_expcnt", Counter::exp},     {"s_wait_storecnt", Counter::store},  {"s_wait_samplecnt", Counter::sample},
    {"s_wait_bvhcnt", Counter::bvh},     {"s_wait_kmcnt", Counter::km},
};

bool isLdsDirect(std::string_view base) {
  for (const std::string_view head : {"lds_direct", "lds_param", "ds_direct", "ds_param"})
    if (base.starts_with(head))
      return true;
  return false;
}

bool isCacheControl(const Instruction& inst) {
  for (const std::string_view head : {"buffer_inv", "buffer_wbinvl1", "buffer_gl0_inv", "buffer_gl1_inv", "global_inv"})
    if (inst.base.starts_with(head))
      return true;
  return false;
}

} // namespace

std::optional<WaitModel> WaitModel::of(const object::Target& target) {
  if (target.isGfx9())
    return WaitModel(Generation::gfx9);
  for (const auto& [head, generation] : {std::pair{"gfx10", Generation::gfx10}, std::pair{"gfx11", Generation::gfx11},
                                         std::pair{"gfx12", Generation::gfx12}})
    if (target.processor.starts_with(head))
      return WaitModel(generation);
  return std::nullopt;
}

WaitModel::WaitModel(Generation g) : gen(g) {
  for (const auto& [counter, bits] : countersOf(g)) {
    all.push_back(counter);
    limits[slot(counter)] = ones(bits) - 1;
  }
}

std::string_view WaitModel::name(Counter counter) const {
  return (gen == Generation::gfx12 ? gfx12Names : olderNames)[slot(counter)];
}

void WaitModel::vectorMemory(const Instruction& inst, CounterUses& out) const {
  // Invalidations need no wait and are not counted (LLVM SIInsertWaitcnts); leaving an operation out of the count is
  // the safe side.
  if (isCacheControl(inst))
    return;
  if (gen == Generation::gfx9)
    return out.add({.counter = Counter::vm, .stream = Stream::memory});
  const bool returnsNothing = inst.mayStore && inst.writeRanges.empty() && !inst.isLdsDma();
  if (returnsNothing || (!inst.mayLoad && !inst.mayStore))
    return out.add({.counter = Counter::store, .stream = Stream::memory});
  CounterUse load{.counter = Counter::vm, .stream = Stream::memory};
  if (inst.base.starts_with("image_bvh"))
    load.path = ReturnPath::rayTracing;
  for (const std::string_view head : {"image_sample", "image_gather4", "image_msaa_load", "image_get_lod"})
    if (inst.base.starts_with(head))
      load.path = ReturnPath::sampler;
  if (gen == Generation::gfx12 && load.path != ReturnPath::common)
    load.counter = load.path == ReturnPath::sampler ? Counter::sample : Counter::bvh;
  out.add(load);
}

CounterUses WaitModel::usesOf(const Instruction& inst) const {
  CounterUses uses;
  const Counter scalar = gen == Generation::gfx12 ? Counter::km : Counter::lgkm;
  const std::string_view base = inst.base;
  switch (inst.cls) {
  case InstClass::vmem:
  case InstClass::global:
  case InstClass::scratch:
    vectorMemory(inst, uses);
    break;
  case InstClass::flat:
    // Either an LDS or a memory access. gfx9 counts both at once without order among other operations; gfx10 and later
    // count both down in order (LLVM hasFlatLgkmVMemCountInOrder).
    if (gen == Generation::gfx9) {
      uses.add({.counter = Counter::vm});
      uses.add({.counter = Counter::lgkm});
    } else {
      vectorMemory(inst, uses);
      uses.add({.counter = Counter::lgkm, .stream = Stream::lds});
    }
    break;
  case InstClass::lds:
    if (isLdsDirect(base)) {
      uses.add({.counter = Counter::exp, .stream = Stream::ldsDirect});
    } else if (inst.mods.gds || base.starts_with("ds_gws_")) {
      uses.add({.counter = Counter::lgkm});
      uses.add({.counter = Counter::exp, .stream = Stream::gds, .locksSources = true});
    } else {
      uses.add({.counter = Counter::lgkm, .stream = Stream::lds});
    }
    break;
  case InstClass::smem:
    if (!base.starts_with("s_prefetch"))
      uses.add({.counter = scalar});
    break;
  case InstClass::message:
    if (base.starts_with("s_sendmsg"))
      uses.add({.counter = scalar});
    else if (base.starts_with("exp"))
      uses.add({.counter = Counter::exp, .locksSources = true});
    break;
  case InstClass::barrier:
    if (base.ends_with("isfirst")) // brings SCC
      uses.add({.counter = scalar});
    break;
  default:
    break;
  }
  return uses;
}

WaitModel::Waits WaitModel::waitsOf(const Instruction& inst) const {
  Waits waits;
  if (inst.cls != InstClass::waitcnt)
    return waits;
  const auto ask = [&](Counter counter, unsigned value) {
    if (value <= limit(counter))
      waits[slot(counter)] = value;
  };
  const unsigned word = inst.simm16;
  if (inst.base == "s_waitcnt") {
    const WaitcntFields& f = gen == Generation::gfx9    ? gfx9Fields
                             : gen == Generation::gfx10 ? gfx10Fields
                                                        : gfx11Fields;
    ask(Counter::vm, ((word >> f.vmLow) & ones(f.vmLowBits)) | ((word >> f.vmHigh) & ones(f.vmHighBits))
                                                                   << f.vmLowBits);
    ask(Counter::exp, (word >> f.exp) & ones(3));
    ask(Counter::lgkm, (word >> f.lgkm) & ones(f.lgkmBits));
    return waits;
  }
  if (inst.base == "s_wait_idle") {
    for (const Counter counter : all)
      waits[slot(counter)] = 0;
    return waits;
  }
  // The pairs of gfx12: dscnt in bits 5:0, the other one from bit 8.
  if (inst.base == "s_wait_loadcnt_dscnt" || inst.base == "s_wait_storecnt_dscnt") {
    ask(Counter::lgkm, word & ones(6));
    ask(inst.base == "s_wait_loadcnt_dscnt" ? Counter::vm : Counter::store, (word >> 8) & ones(6));
    return waits;
  }
  for (const auto& [base, counter] : singleWaits)
    if (inst.base == base)
      ask(counter, word);
  return waits;
}

} // namespace asmevo::program
