// DS, buffer, flat, global, scratch and scalar memory instructions of the reference interpreter (CDNA3 ISA, "Vector
// memory", "Flat memory", "Local data share", "Scalar memory").
#include "emulator/reference/machine.h"

#include <algorithm>
#include <optional>

namespace asmevo::emulator::reference {

namespace {

using isa::InstClass;
using isa::OperandKind;

struct Operands {
  const Machine& m;
  const isa::Instruction& inst;
  std::size_t next = 0;
  const isa::Operand& take() { return inst.operands.at(next++); }
  bool atEnd() const { return next >= inst.operands.size(); }
};

/// How many bytes an access has, from the tail of its name, and how they meet a register.
struct Data {
  unsigned bytes = 4;
  bool isSigned = false, d16 = false, high = false;
};
bool dataOf(std::string_view tail, Data& data) {
  if (tail.ends_with("_d16_hi")) {
    data.high = data.d16 = true;
    tail.remove_suffix(7);
  } else if (tail.ends_with("_d16")) {
    data.d16 = true;
    tail.remove_suffix(4);
  }
  struct Row {
    std::string_view name;
    unsigned bytes;
    bool isSigned;
  };
  static constexpr Row rows[] = {
      {"dword", 4, false}, {"dwordx2", 8, false}, {"dwordx3", 12, false}, {"dwordx4", 16, false}, {"ubyte", 1, false},
      {"sbyte", 1, true},  {"ushort", 2, false},  {"sshort", 2, true},    {"byte", 1, false},     {"short", 2, false},
      {"b32", 4, false},   {"b64", 8, false},     {"b96", 12, false},     {"b128", 16, false},    {"u8", 1, false},
      {"i8", 1, true},     {"u16", 2, false},     {"i16", 2, true},       {"b8", 1, false},       {"b16", 2, false}};
  for (const Row& row : rows)
    if (row.name == tail) {
      data.bytes = row.bytes;
      data.isSigned = row.isSigned;
      return true;
    }
  return false;
}

/// Where a lane's access lies: for each dword a host pointer, or null where it is out of range (reads 0, writes
/// nothing).
using Place = std::array<std::uint8_t*, 4>;

std::uint32_t loadPart(const Place& place, const Data& data, unsigned dword) {
  std::uint32_t x = 0;
  const unsigned bytes = std::min(data.bytes, 4u);
  if (!place[dword])
    return 0;
  std::memcpy(&x, place[dword], bytes);
  if (data.isSigned)
    x = static_cast<std::uint32_t>(extended(x, 8 * bytes));
  // With register-file ECC the half that a D16 load does not fill becomes 0 (CDNA3 ISA 9.1.6).
  return !data.d16 ? x : data.high ? x << 16 : x & 0xffff;
}
void storePart(const Place& place, const Data& data, unsigned dword, std::uint32_t x) {
  if (!place[dword])
    return;
  if (data.high)
    x >>= 16;
  std::memcpy(place[dword], &x, std::min(data.bytes, 4u));
}

Place contiguous(std::uint8_t* first) {
  return {first, first + 4, first + 8, first + 12};
}

std::uint8_t* inMemory(Machine& m, std::uint64_t address, unsigned bytes) {
  const std::uint64_t offset = address - m.memoryBase;
  return offset <= m.memory.size() && bytes <= m.memory.size() - offset ? m.memory.data() + offset : nullptr;
}
std::uint8_t* inScratch(Machine& m, unsigned lane, std::uint32_t offset) {
  return m.scratch.data() + std::size_t{lane} * m.scratchPerLane + offset;
}
std::uint8_t* inLds(Machine& m, std::uint64_t address, unsigned bytes) {
  return address + bytes <= m.lds.size() ? m.lds.data() + address : nullptr;
}

/// Addresses of an instruction's lanes; its operands up to the address have been taken.
class Addresses {
 public:
  Addresses(Machine& m, const isa::Instruction& inst, const isa::Operand* vector, const isa::Operand* scalar,
            const isa::Operand* offset)
      : m(m), inst(inst), vector(vector), scalar(scalar), offset(offset) {}

  /// nullopt: outside what the test mapped.
  std::optional<Place> at(unsigned lane, unsigned bytes, bool whole) const {
    const std::int64_t immediate = inst.mods.offset;
    switch (inst.cls) {
    case InstClass::scratch: {
      std::int64_t x = immediate;
      if (vector)
        x += static_cast<std::int64_t>(m.v[m.physical(*vector)][lane]);
      if (scalar)
        x += static_cast<std::int64_t>(m.scalar32(*scalar));
      const auto at = static_cast<std::uint32_t>(x);
      if (at + bytes > m.scratchPerLane)
        return std::nullopt;
      return contiguous(inScratch(m, lane, at));
    }
    case InstClass::vmem:
      return buffer(lane, bytes, whole);
    default:
      break;
    }
    std::uint64_t address = 0;
    if (scalar)
      address = m.scalar64(*scalar) + m.v[m.physical(*vector)][lane];
    else
      address = m.read(m.physical(*vector), lane, 2);
    if (inst.cls == InstClass::flat) {
      const auto low = static_cast<std::uint32_t>(address) + static_cast<std::uint32_t>(immediate);
      if (address >> 32 == Machine::sharedAperture >> 32) {
        std::uint8_t* const at = inLds(m, low, bytes);
        return at ? contiguous(at) : Place{};
      }
      if (address >> 32 == Machine::privateAperture >> 32) {
        if (low + bytes > m.scratchPerLane)
          return std::nullopt;
        return contiguous(inScratch(m, lane, low));
      }
    }
    std::uint8_t* const at = inMemory(m, address + static_cast<std::uint64_t>(immediate), bytes);
    if (!at)
      return std::nullopt;
    return contiguous(at);
  }

 private:
  std::optional<Place> buffer(unsigned lane, unsigned bytes, bool whole) const {
    const unsigned d = scalar->index;
    const std::uint64_t base = m.s[d] | std::uint64_t{m.s[d + 1] & 0xffff} << 32;
    const std::uint64_t stride = m.s[d + 1] >> 16 & 0x3fff, records = m.s[d + 2];
    const std::uint64_t soffset = offset ? m.scalar32(*offset) : 0;
    unsigned reg = vector ? m.physical(*vector) : 0;
    const std::uint64_t index = inst.mods.idxen ? m.v[reg++][lane] : 0;
    const std::uint64_t within = (inst.mods.offen ? m.v[reg][lane] : 0) + static_cast<std::uint64_t>(inst.mods.offset);
    const std::uint64_t relative = index * stride + within;
    Place place{};
    for (unsigned k = 0; 4 * k < bytes; ++k) {
      const unsigned part = whole ? bytes : std::min(bytes - 4 * k, 4u);
      const bool inRange =
          inst.mods.idxen && stride != 0 ? index < records : relative + (whole ? 0 : 4 * k) + part + soffset <= records;
      if (!inRange)
        continue;
      place[k] = inMemory(m, base + soffset + relative + 4 * k, std::min(bytes - 4 * k, 4u));
      if (!place[k])
        return std::nullopt;
    }
    return place;
  }

  Machine& m;
  const isa::Instruction& inst;
  const isa::Operand *vector, *scalar, *offset;
};

const isa::Operand* unlessOff(const isa::Operand& operand) {
  return operand.kind == OperandKind::off ? nullptr : &operand;
}

std::uint64_t element(const Place& place, unsigned bytes) {
  std::uint64_t x = 0;
  std::memcpy(&x, place[0], bytes);
  return x;
}

bool vectorMemory(Machine& m, const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  const std::string_view name = base.substr(base.find('_') + 1);
  const bool load = name.starts_with("load_"), store = name.starts_with("store_");
  const bool rmw = name.starts_with("atomic_");
  if (!load && !store && !rmw)
    return false;
  Operands operands{m, inst};
  const isa::Operand* result = inst.operands[0].isDef ? &operands.take() : nullptr;
  const isa::Operand *vector = nullptr, *scalar = nullptr, *soffset = nullptr, *data = result;
  if (inst.cls == InstClass::vmem) {
    if (!load)
      data = result ? result : &operands.take();
    if (result && rmw && operands.inst.operands[1].kind == OperandKind::vgpr && !operands.inst.operands[1].isDef &&
        operands.inst.operands.size() > 4)
      operands.take(); // the data register printed as the destination
    vector = unlessOff(operands.take());
    scalar = &operands.take();
    soffset = &operands.take();
  } else {
    const bool scratchStore = inst.cls == InstClass::scratch && store;
    vector = unlessOff(operands.take());
    if (scratchStore || !load)
      data = &operands.take();
    if (!operands.atEnd())
      scalar = unlessOff(operands.take());
  }
  const Addresses addresses(m, inst, vector, scalar, soffset);
  if (rmw) {
    std::string_view operation = name.substr(7);
    unsigned bytes = 4;
    if (operation.ends_with("_x2")) {
      bytes = 8;
      operation.remove_suffix(3);
    } else if (operation.ends_with("_f64")) {
      bytes = 8;
    }
    const bool compares = operation == "cmpswap";
    for (unsigned lane = 0; lane < 64; ++lane) {
      if (!m.active(lane))
        continue;
      const std::optional<Place> place = addresses.at(lane, bytes, true);
      if (!place)
        return false;
      const unsigned reg = m.physical(*data), dwords = bytes / 4;
      const std::uint64_t first = m.read(reg, lane, dwords), second = compares ? m.read(reg + dwords, lane, dwords) : 0;
      std::uint64_t old = 0;
      if ((*place)[0]) {
        old = element(*place, bytes);
        std::uint64_t next = 0;
        if (!atomic(operation, bytes, old, first, second, next))
          return false;
        std::memcpy((*place)[0], &next, bytes);
      }
      if (result)
        m.write(m.physical(*result), lane, old, dwords);
    }
    return true;
  }
  Data shape;
  if (!dataOf(name.substr(name.find('_') + 1), shape))
    return false;
  const unsigned reg = m.physical(*data);
  std::array<Place, 64> places{};
  for (unsigned lane = 0; lane < 64; ++lane)
    if (m.active(lane)) {
      const auto place = addresses.at(lane, shape.bytes, false);
      if (!place)
        return false;
      places[lane] = *place;
    }
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned k = 0; m.active(lane) && 4 * k < shape.bytes; ++k)
      if (load)
        m.v[reg + k][lane] = loadPart(places[lane], shape, k);
      else
        storePart(places[lane], shape, k, m.v[reg + k][lane]);
  return true;
}

bool scalarMemory(Machine& m, const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  const bool buffer = base.starts_with("s_buffer_load_dword");
  if (!buffer && !base.starts_with("s_load_dword"))
    return false;
  const unsigned dwords = inst.operands[0].dwords;
  const isa::Operand& from = inst.operands[1];
  std::uint64_t offset = static_cast<std::uint64_t>(std::int64_t{inst.mods.offset});
  for (std::size_t i = 2; i < inst.operands.size(); ++i)
    offset += inst.operands[i].kind == OperandKind::sgpr ? m.scalar32(inst.operands[i])
                                                         : static_cast<std::uint64_t>(inst.operands[i].imm);
  const std::uint64_t start =
      buffer ? m.s[from.index] | std::uint64_t{m.s[from.index + 1] & 0xffff} << 32 : m.pair(from.index);
  for (unsigned k = 0; k < dwords; ++k) {
    std::uint32_t x = 0;
    if (!buffer || (offset & ~std::uint64_t{3}) + 4 * k + 4 <= m.s[from.index + 2]) {
      const std::uint8_t* at = inMemory(m, ((start + offset) & ~std::uint64_t{3}) + 4 * k, 4);
      if (!at)
        return false;
      std::memcpy(&x, at, 4);
    }
    m.s[inst.operands[0].index + k] = x;
  }
  return true;
}

unsigned swizzled(unsigned offset, unsigned lane) {
  if (offset & 0x8000) // quad mode: four 2-bit selects
    return (lane & ~3u) + (offset >> 2 * (lane & 3) & 3);
  const unsigned in = lane & 31; // bit mode: and, or, xor masks in 32 lanes
  return (lane & 32) | ((((in & offset) | offset >> 5) ^ offset >> 10) & 31);
}

bool exchange(Machine& m, const isa::Instruction& inst) {
  const std::string_view base = inst.base;
  const bool swizzle = base == "ds_swizzle_b32", push = base == "ds_permute_b32";
  if (!swizzle && !push && base != "ds_bpermute_b32")
    return false;
  const unsigned to = m.physical(inst.operands[0]), first = m.physical(inst.operands[1]);
  const auto offset = static_cast<std::uint32_t>(inst.mods.offset);
  std::array<std::uint32_t, 64> result{};
  for (unsigned lane = 0; lane < 64; ++lane) {
    const unsigned target = (m.v[first][lane] + offset) / 4 % 64;
    if (push && m.active(lane))
      result[target] = m.v[m.physical(inst.operands[2])][lane];
    else if (!push) {
      const unsigned from = swizzle ? swizzled(offset, lane) : target;
      result[lane] = m.active(from) ? m.v[swizzle ? first : m.physical(inst.operands[2])][from] : 0;
    }
  }
  for (unsigned lane = 0; lane < 64; ++lane)
    if (m.active(lane))
      m.v[to][lane] = result[lane];
  return true;
}

bool ldsAtomic(Machine& m, const isa::Instruction& inst) {
  std::string name = inst.base.substr(3);
  const std::size_t rtn = name.find("_rtn");
  if (rtn != name.npos)
    name.erase(rtn, 4);
  const unsigned bytes = name.ends_with("64") ? 8 : 4, dwords = bytes / 4;
  const std::string_view operation = std::string_view(name).substr(0, name.rfind('_'));
  const bool compares = operation == "cmpst", masked = operation == "mskor";
  Operands operands{m, inst};
  const isa::Operand* result = rtn != name.npos ? &operands.take() : nullptr;
  const isa::Operand& address = operands.take();
  const isa::Operand& first = operands.take();
  const isa::Operand* second = compares || masked ? &operands.take() : nullptr;
  for (unsigned lane = 0; lane < 64; ++lane) {
    if (!m.active(lane))
      continue;
    const std::uint64_t at =
        std::uint64_t{m.v[m.physical(address)][lane] + static_cast<std::uint32_t>(inst.mods.offset)};
    std::uint8_t* const host = inLds(m, at, bytes);
    std::uint64_t old = 0;
    const std::uint64_t a = m.read(m.physical(first), lane, dwords);
    const std::uint64_t b = second ? m.read(m.physical(*second), lane, dwords) : 0;
    if (host) {
      std::memcpy(&old, host, bytes);
      std::uint64_t next = 0;
      if (compares)
        next = old == a ? b : old;
      else if (masked)
        next = (old & ~a) | b;
      else if (!atomic(name, bytes, old, a, b, next))
        return false;
      std::memcpy(host, &next, bytes);
    }
    if (result)
      m.write(m.physical(*result), lane, old, dwords);
  }
  return true;
}

} // namespace

bool atomic(std::string_view name, unsigned bytes, std::uint64_t old, std::uint64_t data, std::uint64_t second,
            std::uint64_t& r) {
  const unsigned bits = bytes * 8;
  const std::int64_t x = extended(old, bits), y = extended(data, bits);
  const auto is = [&](std::string_view memory, std::string_view lds) { // "smin" or "min_i32" and "min_i64"
    return name == memory || (name.starts_with(lds) && name.size() == lds.size() + 2);
  };
  const auto sum = [](Format f, std::uint64_t a, std::uint64_t b) { // a NaN operand is quieted, memory's first
    const std::uint64_t quiet = std::uint64_t{1} << (infoOf(f).fraction - 1);
    constexpr Numbers nearest(0x3f0); // all denormals kept, nearest even
    return isNan(f, a) ? a | quiet : isNan(f, b) ? b | quiet : nearest.add(f, a, b);
  };
  if (is("swap", "wrxchg_b"))
    r = data;
  else if (name == "cmpswap")
    r = old == second ? data : old;
  else if (is("add", "add_u"))
    r = old + data;
  else if (is("sub", "sub_u"))
    r = old - data;
  else if (is("", "rsub_u"))
    r = data - old;
  else if (is("smin", "min_i"))
    r = x < y ? old : data;
  else if (is("umin", "min_u"))
    r = old < data ? old : data;
  else if (is("smax", "max_i"))
    r = x > y ? old : data;
  else if (is("umax", "max_u"))
    r = old > data ? old : data;
  else if (is("and", "and_b"))
    r = old & data;
  else if (is("or", "or_b"))
    r = old | data;
  else if (is("xor", "xor_b"))
    r = old ^ data;
  else if (is("inc", "inc_u"))
    r = old >= data ? 0 : old + 1;
  else if (is("dec", "dec_u"))
    r = old == 0 || old > data ? data : old - 1;
  else if (name == "add_f32")
    r = sum(Format::f32, old, data);
  else if (name == "add_f64")
    r = sum(Format::f64, old, data);
  else if (name == "pk_add_f16")
    r = sum(Format::f16, old & 0xffff, data & 0xffff) | sum(Format::f16, old >> 16, data >> 16) << 16;
  else
    return false;
  return true;
}

bool stepLds(Machine& m, const isa::Instruction& inst) {
  if (exchange(m, inst))
    return true;
  const std::string_view base = inst.base;
  const bool read = base.starts_with("ds_read"), write = base.starts_with("ds_write");
  if (!read && !write)
    return ldsAtomic(m, inst);
  const std::size_t stem = read ? 7 : 8;
  const bool two = base.substr(stem).starts_with("2"), far = base.substr(stem).starts_with("2st64");
  Data shape;
  if (!dataOf(base.substr(base.find('_', stem) + 1), shape))
    return false;
  Operands operands{m, inst};
  const isa::Operand* result = read ? &operands.take() : nullptr;
  const isa::Operand& address = operands.take();
  const unsigned dwords = std::max(shape.bytes / 4, 1u);
  const auto addressOf = [&](unsigned lane, unsigned which) -> std::uint64_t {
    const std::uint32_t from = m.v[m.physical(address)][lane];
    if (!two)
      return from + static_cast<std::uint32_t>(inst.mods.offset);
    const unsigned offset = which ? inst.mods.offset1 : inst.mods.offset0;
    return from + offset * shape.bytes * (far ? 64u : 1u);
  };
  std::vector<std::array<std::uint32_t, 64>> loaded(8);
  for (unsigned which = 0; which < (two ? 2u : 1u); ++which) {
    if (which == 1 && write && inst.mods.offset0 == inst.mods.offset1)
      break; // one access, of the first data operand (CDNA3 ISA 11.3.1)
    const isa::Operand* data = write ? &operands.take() : nullptr;
    for (unsigned lane = 0; lane < 64; ++lane) {
      if (!m.active(lane))
        continue;
      std::uint8_t* const host = inLds(m, addressOf(lane, which), shape.bytes);
      const Place place = host ? contiguous(host) : Place{};
      for (unsigned k = 0; k < dwords; ++k)
        if (write)
          storePart(place, shape, k, m.v[m.physical(*data) + k][lane]);
        else
          loaded[which * dwords + k][lane] = loadPart(place, shape, k);
    }
  }
  for (unsigned k = 0; read && k < dwords * (two ? 2u : 1u); ++k)
    for (unsigned lane = 0; lane < 64; ++lane)
      if (m.active(lane))
        m.v[m.physical(*result) + k][lane] = loaded[k][lane];
  return true;
}

bool stepMemory(Machine& m, const isa::Instruction& inst) {
  if (inst.cls == InstClass::smem)
    return scalarMemory(m, inst);
  return inst.isVectorMemory() && vectorMemory(m, inst);
}

} // namespace asmevo::emulator::reference
