#include "program/analysis/call_closure.h"

#include <map>
#include <set>

namespace asmevo::program {

namespace {

std::map<BlockId, const Function*> functionsByEntry(const Program& program) {
  std::map<BlockId, const Function*> byEntry;
  for (const Function& f : program.functions)
    byEntry[f.entryBlock] = &f;
  return byEntry;
}

} // namespace

CallClosure callClosure(const Program& program, const Function& function, UnknownCallees unknown) {
  const auto byEntry = functionsByEntry(program);
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
    if (unknown == UnknownCallees::anyDeviceFunction && closure.unknownCallee && i + 1 == closure.functions.size())
      for (const Function& f : program.functions)
        if (!f.kernel)
          add(&f);
  }
  return closure;
}

std::vector<Place> callPath(const Program& program, const Function& from, const Function& to) {
  const auto byEntry = functionsByEntry(program);
  std::map<const Function*, std::vector<Place>> paths{{&from, {}}};
  std::vector<const Function*> todo{&from};
  for (std::size_t i = 0; i < todo.size() && !paths.contains(&to); ++i)
    for (const BlockId id : todo[i]->blocks)
      for (std::size_t k = 0; k < program.blocks[id].instrs.size(); ++k) {
        const Instr& instr = program.blocks[id].instrs[k];
        const auto callee =
            instr.target && instr.inst->cls == isa::InstClass::jump ? byEntry.find(*instr.target) : byEntry.end();
        if (callee == byEntry.end() || paths.contains(callee->second))
          continue;
        std::vector<Place> path = paths[todo[i]];
        path.push_back({id, static_cast<std::uint32_t>(k)});
        paths[callee->second] = std::move(path);
        todo.push_back(callee->second);
      }
  const auto found = paths.find(&to);
  return found == paths.end() ? std::vector<Place>() : found->second;
}

} // namespace asmevo::program
