#include "verify/proof/equality.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <z3.h>

namespace asmevo::verify {

namespace {

/// Terms below which the solver does not look: their values are free.
bool isLeaf(TermOp op) {
  switch (op) {
  case TermOp::variable:
  case TermOp::lane:
  case TermOp::laneBit:
  case TermOp::ballot:
  case TermOp::permuted:
  case TermOp::readLane:
  case TermOp::firstLane:
  case TermOp::apply:
  case TermOp::applyAll:
  case TermOp::load:
  case TermOp::effect:
    return true;
  default:
    return false;
  }
}

constexpr unsigned deepest = 24;         ///< of questions about arguments of arguments
constexpr std::size_t largestCone = 600; ///< nodes of one question
constexpr std::size_t smallQuestion = 80;
constexpr std::size_t mostProducts = 3; ///< of two unknowns: bit-blasted multipliers are what solvers choke on
constexpr std::size_t mostLeafPairs = 256;
constexpr unsigned mostMegabytes = 512; ///< of the solver's memory for one question
constexpr double mostSolverSeconds = 1; ///< of one question

/// One Z3 question, freed with the object.
class Question {
 public:
  /// `small`: the question is small enough for the tactics in front of the core, which do not count against the limit.
  Question(const TermTable& table, unsigned limit, bool small, double seconds) : t(table) {
    Z3_config config = Z3_mk_config();
    context = Z3_mk_context(config);
    Z3_del_config(config);
    Z3_set_error_handler(context, [](Z3_context, Z3_error_code) {});
    solver = small ? Z3_mk_solver(context) : Z3_mk_simple_solver(context);
    Z3_solver_inc_ref(context, solver);
    Z3_params params = Z3_mk_params(context);
    Z3_params_inc_ref(context, params);
    Z3_params_set_uint(context, params, Z3_mk_string_symbol(context, "rlimit"), limit);
    Z3_params_set_uint(context, params, Z3_mk_string_symbol(context, "random_seed"), 1);
    Z3_params_set_uint(context, params, Z3_mk_string_symbol(context, "max_memory"), mostMegabytes);
    // Its preprocessing does not count as work.
    Z3_params_set_uint(context, params, Z3_mk_string_symbol(context, "timeout"),
                       std::max(1u, static_cast<unsigned>(1000 * seconds)));
    Z3_solver_set_params(context, solver, params);
    Z3_params_dec_ref(context, params);
  }
  ~Question() {
    Z3_solver_dec_ref(context, solver);
    Z3_del_context(context);
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  /// Leaves with the same representative are one unknown.
  std::unordered_map<TermId, TermId> representative;

  Answer differ(TermId a, TermId b, Model& model) {
    const Z3_ast x = translate(a), y = translate(b);
    if (!x || !y)
      return Answer::unknown;
    Z3_solver_assert(context, solver, Z3_mk_not(context, Z3_mk_eq(context, x, y)));
    switch (Z3_solver_check(context, solver)) {
    case Z3_L_FALSE:
      return Answer::yes;
    case Z3_L_TRUE:
      readModel(model);
      return Answer::no;
    default:
      return Answer::timeout;
    }
  }

 private:
  const TermTable& t;
  Z3_context context = nullptr;
  Z3_solver solver = nullptr;
  std::unordered_map<TermId, Z3_ast> made;

  static unsigned widthOf(Sort sort) { return sort == Sort::wide ? 64 : 32; }

  Z3_ast number(std::uint64_t value, Sort sort) {
    if (sort == Sort::bit)
      return value ? Z3_mk_true(context) : Z3_mk_false(context);
    return Z3_mk_unsigned_int64(context, value, Z3_mk_bv_sort(context, widthOf(sort)));
  }

  Z3_ast leaf(TermId id) {
    const auto found = representative.find(id);
    const TermId name = found == representative.end() ? id : found->second;
    const auto& node = t.at(id);
    if (node.sort == Sort::memory)
      return nullptr;
    const Z3_sort sort = node.sort == Sort::bit ? Z3_mk_bool_sort(context) : Z3_mk_bv_sort(context, widthOf(node.sort));
    return Z3_mk_const(context, Z3_mk_int_symbol(context, static_cast<int>(name)), sort);
  }

  /// Bottom-up, without recursion: terms can be deep.
  Z3_ast translate(TermId root) {
    std::vector<TermId> stack{root};
    while (!stack.empty()) {
      const TermId id = stack.back();
      if (made.contains(id)) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      if (!isLeaf(t.at(id).op))
        for (const TermId a : t.args(id))
          if (!made.contains(a)) {
            stack.push_back(a);
            ready = false;
          }
      if (!ready)
        continue;
      stack.pop_back();
      const Z3_ast ast = one(id);
      if (!ast)
        return nullptr;
      made.emplace(id, ast);
    }
    return made.at(root);
  }

  template <class F> Z3_ast fold(TermId id, F f) {
    Z3_ast r = made.at(t.arg(id, 0));
    for (std::size_t i = 1; i < t.args(id).size(); ++i)
      r = f(context, r, made.at(t.arg(id, i)));
    return r;
  }

  Z3_ast one(TermId id) {
    const auto& node = t.at(id);
    const auto arg = [&](std::size_t i) { return made.at(t.arg(id, i)); };
    const bool isBit = node.sort == Sort::bit;
    const unsigned width = widthOf(node.sort);
    switch (node.op) {
    case TermOp::constant:
      return number(node.payload, node.sort);
    case TermOp::sum: {
      Z3_ast r = number(node.payload, node.sort);
      for (std::size_t i = 0; i < t.args(id).size(); ++i)
        r = Z3_mk_bvadd(context, r, arg(i));
      return r;
    }
    case TermOp::scaled:
      return Z3_mk_bvmul(context, number(node.payload, node.sort), arg(0));
    case TermOp::mul:
      return Z3_mk_bvmul(context, arg(0), arg(1));
    case TermOp::and_: {
      if (!isBit)
        return fold(id, Z3_mk_bvand);
      std::vector<Z3_ast> list;
      for (std::size_t i = 0; i < t.args(id).size(); ++i)
        list.push_back(arg(i));
      return Z3_mk_and(context, static_cast<unsigned>(list.size()), list.data());
    }
    case TermOp::or_: {
      if (!isBit)
        return fold(id, Z3_mk_bvor);
      std::vector<Z3_ast> list;
      for (std::size_t i = 0; i < t.args(id).size(); ++i)
        list.push_back(arg(i));
      return Z3_mk_or(context, static_cast<unsigned>(list.size()), list.data());
    }
    case TermOp::xor_:
      return isBit ? fold(id, Z3_mk_xor) : fold(id, Z3_mk_bvxor);
    case TermOp::not_:
      return isBit ? Z3_mk_not(context, arg(0)) : Z3_mk_bvnot(context, arg(0));
    case TermOp::shl:
    case TermOp::shr:
    case TermOp::sar: {
      const Z3_ast amount = Z3_mk_bvand(context, arg(1), number(width - 1, node.sort));
      return node.op == TermOp::shl   ? Z3_mk_bvshl(context, arg(0), amount)
             : node.op == TermOp::shr ? Z3_mk_bvlshr(context, arg(0), amount)
                                      : Z3_mk_bvashr(context, arg(0), amount);
    }
    case TermOp::eq:
      return Z3_mk_eq(context, arg(0), arg(1));
    case TermOp::ult:
      return Z3_mk_bvult(context, arg(0), arg(1));
    case TermOp::slt:
      return Z3_mk_bvslt(context, arg(0), arg(1));
    case TermOp::select:
      return Z3_mk_ite(context, arg(0), arg(1), arg(2));
    case TermOp::popcount: {
      Z3_ast r = number(0, node.sort);
      for (unsigned i = 0; i < width; ++i)
        r = Z3_mk_bvadd(context, r, bitAt(arg(0), i, width));
      return r;
    }
    case TermOp::clz:
    case TermOp::ctz: {
      Z3_ast r = number(width, node.sort);
      for (unsigned i = 0; i < width; ++i) {
        const unsigned at = node.op == TermOp::clz ? i : width - 1 - i;
        const Z3_ast isSet = Z3_mk_eq(context, bitAt(arg(0), at, width), number(1, node.sort));
        r = Z3_mk_ite(context, isSet, number(node.op == TermOp::clz ? width - 1 - at : at, node.sort), r);
      }
      return r;
    }
    case TermOp::brev: {
      Z3_ast r = Z3_mk_extract(context, 0, 0, arg(0));
      for (unsigned i = 1; i < width; ++i)
        r = Z3_mk_concat(context, r, Z3_mk_extract(context, i, i, arg(0)));
      return r;
    }
    case TermOp::zext:
      return Z3_mk_zero_ext(context, 32, arg(0));
    case TermOp::sext:
      return Z3_mk_sign_ext(context, 32, arg(0));
    case TermOp::lo:
      return Z3_mk_extract(context, 31, 0, arg(0));
    case TermOp::hi:
      return Z3_mk_extract(context, 63, 32, arg(0));
    case TermOp::bit:
      return Z3_mk_ite(context, arg(0), number(1, Sort::word), number(0, Sort::word));
    default:
      return leaf(id);
    }
  }

  Z3_ast bitAt(Z3_ast value, unsigned i, unsigned width) {
    return Z3_mk_zero_ext(context, width - 1, Z3_mk_extract(context, i, i, value));
  }

  void readModel(Model& model) {
    model.clear();
    const Z3_model found = Z3_solver_get_model(context, solver);
    if (!found)
      return;
    Z3_model_inc_ref(context, found);
    for (const auto& [id, ast] : made) {
      if (t.at(id).op != TermOp::variable || t.at(id).sort == Sort::memory)
        continue;
      Z3_ast value = nullptr;
      std::uint64_t bits = 0;
      if (!Z3_model_eval(context, found, ast, true, &value) || !value)
        continue;
      if (t.at(id).sort == Sort::bit)
        model[t.at(id).payload] = Z3_get_bool_value(context, value) == Z3_L_TRUE;
      else if (Z3_get_numeral_uint64(context, value, &bits))
        model[t.at(id).payload] = bits;
    }
    Z3_model_dec_ref(context, found);
  }
};

} // namespace

Equality::Equality(TermTable& table, unsigned resourceLimit, unsigned questions, const Deadline& deadline)
    : t(table), limit(resourceLimit), most(questions), end(deadline) {}
Equality::~Equality() = default;

Answer Equality::equal(TermId a, TermId b) {
  return equalAt(a, b, 0);
}

Answer Equality::implied(TermId active, TermId condition) {
  if (t.implies(active, condition))
    return Answer::yes;
  return equal(t.or_(t.not_(active), condition), t.truth(true));
}

Answer Equality::equalAt(TermId a, TermId b, unsigned depth) {
  if (a == b)
    return Answer::yes;
  if (t.at(a).sort != t.at(b).sort || depth > deepest)
    return Answer::unknown;
  if (b < a)
    std::swap(a, b);
  // What the solver was not asked for yet is open.
  if (solving && !knownWithSolver) {
    std::erase_if(known, [](const auto& entry) { return entry.second != Answer::yes; });
    knownWithSolver = true;
  }
  const auto [slot, fresh] = known.emplace(std::pair{a, b}, Answer::unknown);
  if (!fresh)
    return slot->second;
  Answer answer = congruent(a, b, depth);
  if (answer != Answer::yes && t.at(a).sort != Sort::memory && !(isLeaf(t.at(a).op) && isLeaf(t.at(b).op)))
    answer = solve(a, b, depth);
  known[{a, b}] = answer;
  return answer;
}

Answer Equality::congruent(TermId a, TermId b, unsigned depth) {
  const auto &x = t.at(a), &y = t.at(b);
  if (x.op != y.op || x.payload != y.payload || x.argCount != y.argCount || x.argCount == 0 || !isLeaf(x.op))
    return Answer::unknown;
  // Arguments that differ in kind show it cheaply: look at all of them before the solver looks at any.
  const std::vector<TermId> p(t.args(a).begin(), t.args(a).end()), q(t.args(b).begin(), t.args(b).end());
  for (std::size_t i = 0; i < p.size(); ++i)
    if (t.at(p[i]).sort != t.at(q[i]).sort)
      return Answer::unknown;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (const Answer answer = equalAt(p[i], q[i], depth + 1); answer != Answer::yes)
      return answer == Answer::timeout ? Answer::timeout : Answer::unknown;
  return Answer::yes;
}

bool Equality::collectLeaves(TermId root, std::vector<TermId>& leaves, std::size_t& cost) const {
  std::unordered_set<TermId> seen;
  std::vector<TermId> stack{root};
  while (!stack.empty() && seen.size() <= largestCone) {
    const TermId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second)
      continue;
    if (isLeaf(t.at(id).op))
      leaves.push_back(id);
    else
      for (const TermId a : t.args(id))
        stack.push_back(a);
  }
  const auto products = std::ranges::count_if(seen, [&](TermId id) { return t.at(id).op == TermOp::mul; });
  std::ranges::sort(leaves);
  cost += seen.size() + (products != 0 ? largestCone : 0);
  return seen.size() <= largestCone && static_cast<std::size_t>(products) <= mostProducts;
}

Answer Equality::solve(TermId a, TermId b, unsigned depth) {
  if (!solving || limit == 0)
    return Answer::unknown;
  if (exhausted())
    return Answer::timeout;
  std::vector<TermId> left, right;
  std::size_t nodes = 0;
  if (!collectLeaves(a, left, nodes) || !collectLeaves(b, right, nodes))
    return Answer::unknown;
  const bool small = nodes <= smallQuestion;
  Question question(t, limit, small, std::min(mostSolverSeconds, end.left()));
  // Unknowns of one side only may still be equal to one of the other's.
  std::vector<TermId> onlyLeft, onlyRight;
  std::ranges::set_difference(left, right, std::back_inserter(onlyLeft));
  std::ranges::set_difference(right, left, std::back_inserter(onlyRight));
  bool abstracted = false;
  std::size_t pairs = 0;
  for (const TermId r : onlyRight) {
    if (t.at(r).op == TermOp::variable)
      continue;
    for (const TermId l : left) {
      if (t.at(l).op != t.at(r).op || t.at(l).payload != t.at(r).payload || t.at(l).argCount != t.at(r).argCount ||
          ++pairs > mostLeafPairs)
        continue;
      if (equalAt(l, r, depth + 1) == Answer::yes) {
        question.representative[r] = l;
        break;
      }
    }
  }
  for (const auto* list : {&left, &right})
    for (const TermId id : *list)
      abstracted |= t.at(id).op != TermOp::variable && t.at(id).op != TermOp::lane;
  if (exhausted())
    return Answer::timeout;
  ++asked;
  Model model;
  const Answer answer = question.differ(a, b, model);
  if (answer == Answer::no) {
    lastModel = std::move(model);
    // Of uninterpreted parts nothing was assumed: such a model may not exist.
    return abstracted ? Answer::unknown : Answer::no;
  }
  return answer;
}

} // namespace asmevo::verify
