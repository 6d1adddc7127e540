#include "program/analysis/call_closure.h"

#include <map>
#include <set>

namespace asmevo::program {

CallClosure callClosure(const Program& program, const Function& function) {
  std::map<BlockId, const Function*> byEntry;
  for (const Function& f : program.functions)
    byEntry[f.entryBlock] = &f;
  CallClosure closure{{&function}, false};
  std::set<const Function*> seen{&function};
  const auto add = [&](const Function* callee) {
    if (seen.insert(callee).second)
      closure.functions.push_back(callee);
  };
  for (std::size_t i = 0; i < closure.functions.size(); ++i) {
    const Function* caller = closure.functions[i];
    for (const BlockId id : caller->blocks)
      for (const Instr& instr : program.blocks[id].instrs) {
        const Flow flow = flowOf(instr.inst);
        if (flow != Flow::call && flow != Flow::jump)
          continue;
        const auto callee = instr.target ? byEntry.find(*instr.target) : byEntry.end();
        if (callee != byEntry.end())
          add(callee->second);
        else if (flow == Flow::call || (!instr.target && caller->kernel && program.blocks[id].successors.empty()))
          closure.unknownCallee = true;
      }
    if (closure.unknownCallee && i + 1 == closure.functions.size())
      for (const Function& f : program.functions)
        if (!f.kernel)
          add(&f);
  }
  return closure;
}

} // namespace asmevo::program
