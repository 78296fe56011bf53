// Branches, calls and exits, and what has no effect here.

#include <algorithm>

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

constexpr unsigned kCallDepthMax = 64;
// PTX ISA, "setmaxnreg".
constexpr std::uint64_t kRegistersMin = 24;
constexpr std::uint64_t kRegistersMax = 256;

bool is_label(Decoding& at, const Operand& operand) {
  if (operand.kind == OperandKind::kLabel) return true;
  at.fail("label '" + operand.name + "' is not defined");
  return false;
}

// brx.idx[.uni] index, targets
void decode_branch_table(Decoding& at) {
  const ValuePlace index = at.source(at.operands()[0], 4, ScalarType::kU32);
  if (at.operands()[1].kind != OperandKind::kTable) {
    return at.fail("expected a list of branch targets");
  }
  const Step& step = at.emit(Action::kBranchTable, Detail{}, {.a = index});
  for (const Operand& label : at.frame().function->tables[at.operands()[1].index].labels) {
    if (is_label(at, label)) at.frame().tables.emplace_back(step.detail, label.index);
  }
}

// A call as it is written: [(results),] name[, (arguments)]
struct Call {
  std::string name;
  std::vector<Operand> results;
  std::vector<Operand> arguments;
};

std::optional<Call> read_call(Decoding& at) {
  const std::vector<Operand>& operands = at.operands();
  const auto is_list = [&](std::size_t i) {
    return i < operands.size() && operands[i].kind == OperandKind::kList;
  };
  const std::size_t name = is_list(0) ? 1 : 0;
  if (name >= operands.size() || operands[name].kind != OperandKind::kName) {
    at.fail("calls by address cannot be run");
    return std::nullopt;
  }
  Call call{operands[name].name, {}, {}};
  if (is_list(0)) call.results = operands[0].parts;
  if (is_list(name + 1)) call.arguments = operands[name + 1].parts;
  return call;
}

// Adds where the caller's variables are to those of the function.
void bind(Decoding& at, const std::vector<Operand>& list, std::vector<Location>* variables) {
  for (const Operand& operand : list) {
    if (operand.kind != OperandKind::kVariable) {
      return at.fail("expected variables of .param space");
    }
    variables->push_back(at.frame().variables[operand.index]);
  }
}

// Functions that the GPU's own system has. Their arguments are in local memory; they are loaded
// into values first.
void decode_system_call(Decoding& at, const Call& call) {
  const bool is_print = call.name == "vprintf";
  if (!is_print && call.name != "__assertfail") {
    return at.fail("'" + call.name + "' is not defined");
  }
  if (call.arguments.size() < 2) return at.fail("arguments are missing");
  std::vector<Location> places;
  bind(at, call.arguments, &places);
  Detail detail;
  for (std::size_t i = 0; i < std::min<std::size_t>(is_print ? 2 : 3, places.size()); ++i) {
    const Location& location = places[i];
    const std::uint32_t variable = call.arguments[i].index;
    const auto width = static_cast<Width>(at.frame().function->variables[variable].bytes);
    if (width != 4 && width != 8) return at.fail("arguments have other types");
    Detail load;
    load.memory = {location.space, 8, at.constant(8, 0),
                   static_cast<std::int64_t>(location.address)};
    load.element_bytes = load.width = width;
    load.defs = {at.add_temporary(width)};
    detail.uses.push_back(load.defs[0]);
    at.emit(Action::kLoad, std::move(load));
  }
  at.emit(is_print ? Action::kPrint : Action::kAssert, std::move(detail));
}

// The spaces and levels of caches that an instruction knows.
bool take_cache_level(Decoding& at) {
  using enum MemorySpace;
  const std::optional<MemorySpace> space = at.take_space();
  const auto is_in = [&](std::initializer_list<MemorySpace> spaces) {
    return !space || std::find(spaces.begin(), spaces.end(), *space) != spaces.end();
  };
  if (at.opcode() == "prefetchu") return !space && at.take("L1");
  if (at.opcode() == "discard") return is_in({kGlobal}) && at.take("L2");
  if (at.opcode() == "applypriority") return is_in({kGlobal}) && at.take("L2::evict_normal");
  if (at.take("tensormap")) return is_in({kConst, kParam});
  if (at.take("L1") || at.take("L2")) return is_in({kGlobal, kLocal});
  return space == kGlobal && (at.take("L2::evict_last") || at.take("L2::evict_normal"));
}

// The priority of a policy, and perhaps one for the rest.
bool take_priorities(Decoding& at) {
  const bool is_known = at.take("L2::evict_last") || at.take("L2::evict_normal") ||
                        at.take("L2::evict_first") || at.take("L2::evict_unchanged");
  at.skip({"L2::evict_first", "L2::evict_unchanged"});
  return is_known;
}

}  // namespace

// bra[.uni] label
void decode_branch(Decoding& at) {
  const bool is_table = at.opcode() == "brx";
  if (is_table && !at.take("idx")) return at.refuse();
  at.skip({"uni"});
  if (at.has_more() || at.operands().size() != (is_table ? 2U : 1U)) return at.refuse();
  if (is_table) return decode_branch_table(at);
  if (!is_label(at, at.operands()[0])) return;
  at.frame().branches.emplace_back(at.num_steps(), at.operands()[0].index);
  at.emit(Action::kBranch);
}

// call[.uni] (results), name, (arguments): the function's steps stand here.
void decode_call(Decoding& at) {
  at.skip({"uni"});
  if (at.has_more()) return at.refuse();
  const std::optional<Call> call = read_call(at);
  if (!call) return;
  const std::vector<text::Function>& functions = at.module().functions;
  const auto found =
      std::find_if(functions.begin(), functions.end(),
                   [&](const text::Function& function) { return function.name == call->name; });
  if (found == functions.end() || !found->is_defined) return decode_system_call(at, *call);
  for (const Frame* caller = &at.frame(); caller != nullptr; caller = caller->caller) {
    if (caller->function == &*found) return at.fail("'" + call->name + "' calls itself");
  }
  if (at.frame().depth >= kCallDepthMax) return at.fail("calls nest too deeply");
  if (at.has_guard()) return at.fail("calls with a guard cannot be run");
  if (call->results.size() != found->num_results ||
      call->arguments.size() != found->num_parameters) {
    return at.fail("'" + call->name + "' has other parameters");
  }
  Frame frame{&*found, &at.frame()};
  frame.depth = at.frame().depth + 1;
  bind(at, call->results, &frame.variables);
  bind(at, call->arguments, &frame.variables);
  if (at.status().is_ok()) decode_function(at, frame);
}

// ret[.uni], exit
void decode_exit(Decoding& at) {
  if (at.opcode() == "ret") at.skip({"uni"});
  if (at.has_more() || !at.operands().empty()) return at.refuse();
  Frame& frame = at.frame();
  if (at.opcode() == "exit" || frame.caller == nullptr) {
    at.emit(Action::kExit);
    return;
  }
  frame.branches.emplace_back(at.num_steps(), frame.function->instructions.size());
  at.emit(Action::kBranch);
}

void decode_trap(Decoding& at) {
  if (at.has_more() || !at.operands().empty()) return at.refuse();
  at.emit(Action::kTrap);
}

// griddepcontrol.{launch_dependents, wait}: launches follow one another here.
void decode_launch_control(Decoding& at) {
  const bool is_known = at.take("launch_dependents") || at.take("wait");
  if (!is_known || at.has_more() || !at.operands().empty()) return at.refuse();
  at.emit(Action::kNothing);
}

// nanosleep.u32 time, pmevent[.mask] event
void decode_pause(Decoding& at) {
  const bool is_known =
      at.opcode() == "nanosleep" ? at.take("u32") : at.take("mask") || !at.has_more();
  if (!is_known || at.has_more()) return at.refuse();
  if (!at.has_operands(1)) return;
  at.source32(at.operands()[0]);
  at.emit(Action::kNothing);
}

// prefetch[.space].level [a], prefetch[.space].tensormap [a], prefetchu.L1 [a],
// discard[.global].L2 [a], 128 and applypriority[.global].L2::evict_normal [a], 128
void decode_cache_hint(Decoding& at) {
  if (!take_cache_level(at) || at.has_more()) return at.refuse();
  const bool has_size = at.opcode() == "discard" || at.opcode() == "applypriority";
  if (!at.has_operands(has_size ? 2 : 1)) return;
  at.memory(at.operands()[0], MemorySpace::kGeneric);
  if (has_size && (at.operands()[1].kind != OperandKind::kInteger || at.operands()[1].bits != 128))
    return at.fail("expected a size of 128");
  at.emit(Action::kNothing);
}

// createpolicy.fractional.L2::evict...[.L2::evict...].b64 d[, fraction],
// createpolicy.range[.global].L2::evict...[.L2::evict...].b64 d, [a], size, size and
// createpolicy.cvt.L2.b64 d, property: caches do not exist here, so every policy is the same.
void decode_policy(Decoding& at) {
  const std::vector<Operand>& operands = at.operands();
  const bool is_conversion = at.take("cvt");
  const bool is_range = !is_conversion && at.take("range");
  if (is_range) at.skip({"global"});
  const bool is_known =
      is_conversion ? at.take("L2") : (is_range || at.take("fractional")) && take_priorities(at);
  if (!is_known || !at.take("b64") || at.has_more()) return at.refuse();
  const bool has_default = !is_conversion && !is_range && operands.size() == 1;
  if (!at.has_operands(is_range ? 4 : has_default ? 1 : 2)) return;
  if (is_range) at.memory(operands[1], MemorySpace::kGeneric);
  for (std::size_t i = is_range ? 2 : 1; i < operands.size(); ++i) {
    at.source(operands[i], is_conversion ? Width{8} : Width{4}, ScalarType::kF32);
  }
  at.emit_lanes("mov.b64", at.result(at.operands()[0], 8), {at.constant(8, 0)});
}

// setmaxnreg.{inc, dec}.sync.aligned.u32 n: how many registers there are does not matter here.
void decode_register_count(Decoding& at) {
  const bool is_known = at.take("inc") || at.take("dec");
  const std::vector<Operand>& operands = at.operands();
  if (!is_known || !at.take("sync") || !at.take("aligned") || !at.take("u32") || at.has_more() ||
      operands.size() != 1 || operands[0].kind != OperandKind::kInteger) {
    return at.refuse();
  }
  const std::uint64_t count = operands[0].bits;
  if (count < kRegistersMin || count > kRegistersMax || count % 8 != 0) {
    return at.fail("expected a multiple of 8 from 24 to 256");
  }
  at.emit(Action::kNothing);
}

}  // namespace recto::ptx
