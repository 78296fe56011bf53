#include "verify/ptx/program/decoder.h"

#include <algorithm>

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

constexpr std::size_t kStepsMax = std::size_t{1} << 22;
// Registers and instructions of the functions that are called, as often as they are: functions that
// emit no steps may be called exponentially often. A call takes as long as some of these.
constexpr std::size_t kCalledMax = std::size_t{1} << 20;
constexpr std::size_t kCallSize = 16;
// Branches times values, of which liveness takes bits. Large kernels have some millions.
constexpr std::size_t kLivenessMax = std::size_t{1} << 31;

using DecodeFunction = void (*)(Decoding& at);

// Instructions with more to them than a form of `lanes/`.
const std::unordered_map<std::string_view, DecodeFunction>& decode_functions() {
  static const std::unordered_map<std::string_view, DecodeFunction> kFunctions = {
      {"activemask", decode_active_mask},
      {"addc", decode_carry},
      {"applypriority", decode_cache_hint},
      {"atom", decode_atomic},
      {"bar", decode_barrier},
      {"barrier", decode_barrier},
      {"bra", decode_branch},
      {"brkpt", decode_trap},
      {"brx", decode_branch},
      {"call", decode_call},
      {"cp", decode_copy},
      {"createpolicy", decode_policy},
      {"cvt", decode_convert},
      {"cvta", decode_address_conversion},
      {"discard", decode_cache_hint},
      {"elect", decode_election},
      {"exit", decode_exit},
      {"fence", decode_fence},
      {"getctarank", decode_rank_of_address},
      {"griddepcontrol", decode_launch_control},
      {"isspacep", decode_space_test},
      {"ld", decode_load_or_store},
      {"ldmatrix", decode_matrix_move},
      {"ldu", decode_load_or_store},
      {"lop3", decode_logic},
      {"madc", decode_carry},
      {"mapa", decode_mapped_address},
      {"match", decode_match},
      {"mbarrier", decode_mbarrier},
      {"membar", decode_fence},
      {"mma", decode_matrix_product},
      {"mov", decode_move},
      {"nanosleep", decode_pause},
      {"pmevent", decode_pause},
      {"prefetch", decode_cache_hint},
      {"prefetchu", decode_cache_hint},
      {"red", decode_atomic},
      {"redux", decode_reduction},
      {"ret", decode_exit},
      {"set", decode_compare},
      {"setmaxnreg", decode_register_count},
      {"setp", decode_compare},
      {"shfl", decode_shuffle},
      {"st", decode_load_or_store},
      {"stmatrix", decode_matrix_move},
      {"subc", decode_carry},
      {"trap", decode_trap},
      {"vote", decode_vote},
      {"wgmma", decode_warpgroup},
  };
  return kFunctions;
}

void decode_instruction(Decoding& at) {
  const auto found = decode_functions().find(at.opcode());
  if (found != decode_functions().end()) return found->second(at);
  return at.has_modifier("cc") ? decode_carry(at) : decode_lanes(at);
}

}  // namespace

void decode_function(Decoding& at, Frame& frame) {
  const text::Function& function = *frame.function;
  if (frame.caller != nullptr) {
    const std::size_t size = kCallSize + function.registers.size() + function.instructions.size();
    if (at.count_called(size) > kCalledMax) return at.fail("the calls are too many");
  }
  Frame* const caller = at.exchange_frame(&frame);
  for (const text::Register& reg : function.registers) {
    const unsigned bits = bits_of(reg.type);
    if (bits > 64) at.fail("register '" + reg.name + "' has 128 bits");
    frame.values.push_back(
        at.add_value(bits == 1 ? kPredicateWidth : static_cast<Width>(std::max(2U, bits / 8))));
  }
  at.check(at.variables().place_function(function, &frame.variables));
  for (const text::Instruction& instruction : function.instructions) {
    if (!at.status().is_ok()) break;
    at.begin(instruction);
    frame.steps.push_back(at.num_steps());
    if (at.num_steps() > kStepsMax) at.fail("the kernel is too long");
    decode_instruction(at);
  }
  at.exchange_frame(caller);
  if (!at.status().is_ok()) return;
  frame.steps.push_back(at.num_steps());
  for (const auto& [step, instruction] : frame.branches) {
    at.program().steps[step].target = frame.steps[instruction];
  }
  for (const auto& [detail, instruction] : frame.tables) {
    at.program().details[detail].targets.push_back(frame.steps[instruction]);
  }
}

Result<Draft> decode(const text::Module& module, const Symbols& symbols,
                     const text::Function& kernel) {
  Decoding at(module, symbols);
  at.program().kernel = kernel.name;
  at.program().threads_max = kernel.threads_max;
  at.program().threads = kernel.threads;
  at.program().cluster = kernel.cluster;
  Frame frame{&kernel};
  at.exchange_frame(&frame);
  at.check(at.variables().place_kernel(kernel, &frame.variables));
  if (at.status().is_ok()) decode_function(at, frame);
  if (!at.status().is_ok()) return at.status().in(kernel.name);
  at.begin_instruction({}, "exit", {});
  at.emit(Action::kExit);  // behind the last instruction
  Draft draft = at.finish();
  const auto branches = static_cast<std::size_t>(
      std::count_if(draft.program.steps.begin(), draft.program.steps.end(), [](const Step& step) {
        return step.action == Action::kBranch || step.action == Action::kBranchTable ||
               step.action == Action::kExit;
      }));
  if (branches * draft.values.size() > kLivenessMax) {
    return Status::invalid_input("line " + std::to_string(kernel.line) + ": " +
                                 std::to_string(branches) + " branches and " +
                                 std::to_string(draft.values.size()) + " values are too many")
        .in(kernel.name);
  }
  return draft;
}

}  // namespace recto::ptx
