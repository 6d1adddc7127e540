#include "emulator/coverage.h"

#include "emulator/bind.h"

#include <algorithm>
#include <unordered_map>

namespace asmevo::emulator {

void Coverage::add(const Coverage& other) {
  instructions += other.instructions;
  for (const auto& [mnemonic, count] : other.modelled)
    modelled[mnemonic] += count;
  for (const auto& [mnemonic, refusal] : other.refused) {
    Refusal& mine = refused[mnemonic];
    if (mine.count == 0)
      mine.reason = refusal.reason;
    mine.count += refusal.count;
  }
}

Result<Coverage> coverageOf(const object::CodeObject& object, isa::Codec& codec) {
  Coverage result;
  // Instructions are interned: one attempt each, then its counter.
  std::unordered_map<isa::InstRef, std::size_t*> seen;
  for (const object::Section* section : object.codeSections()) {
    const auto code = object.contents(*section);
    for (std::size_t at = 0; at + 4 <= code.size();) {
      const isa::InstRef inst = codec.decode(code.subspan(at));
      at += std::max<std::size_t>(4, (inst->size + 3u) / 4 * 4);
      if (inst->cls == isa::InstClass::unknown)
        continue;
      ++result.instructions;
      const auto [it, fresh] = seen.try_emplace(inst, nullptr);
      if (fresh) {
        Arena arena;
        BindContext context;
        context.simd = bestSimdLevel();
        context.arena = &arena;
        Op op;
        const Status bound = bindInstruction(*inst, context, op);
        if (bound) {
          it->second = &result.modelled[inst->mnemonic];
        } else {
          Coverage::Refusal& refusal = result.refused[inst->mnemonic];
          if (refusal.count == 0)
            refusal.reason = bound.error().message;
          it->second = &refusal.count;
        }
      }
      ++*it->second;
    }
  }
  return result;
}

} // namespace asmevo::emulator
