#include "verify/ptx/program/decoder.h"

#include <algorithm>
#include <bit>
#include <set>

namespace recto::ptx {
namespace {

constexpr std::size_t kStepsMax = std::size_t{1} << 22;
constexpr std::uint64_t kLocalBytesMax = 512 << 10;  // CUDA C++ Programming Guide, limits
constexpr std::uint64_t kSharedBytesMax = 227 << 10;

std::uint64_t aligned(std::uint64_t address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

}  // namespace

bool Decoder::fail(const std::string& message) {
  if (!status_.is_ok()) return false;
  const std::uint32_t line =
      instruction_ != nullptr ? instruction_->place.ptx_line : frame_->function->line;
  const std::string what = instruction_ != nullptr ? instruction_->text() + ": " : "";
  status_ = Status::invalid_input("line " + std::to_string(line) + ": " + what + message);
  return false;
}

bool Decoder::refuse() { return fail("not an instruction that can be run here"); }

Result<Draft> Decoder::decode(const text::Function& kernel) {
  draft_.program.kernel = kernel.name;
  draft_.program.threads_max = kernel.threads_max;
  draft_.program.cluster = kernel.cluster;
  Frame frame{&kernel};
  frame_ = &frame;
  std::uint64_t offset = 0;
  for (const text::Variable& parameter : kernel.variables) {
    if (&parameter - kernel.variables.data() >= kernel.num_parameters) break;
    offset = aligned(offset, parameter.alignment);
    frame.variables.push_back({MemorySpace::kParam, offset});
    draft_.program.parameters.push_back({parameter.name, offset, parameter.bytes});
    offset += parameter.bytes;
    if (offset > (1 << 20)) return Status::invalid_input(kernel.name + ": too many parameters");
  }
  draft_.program.parameter_bytes = static_cast<std::uint32_t>(offset);
  draft_.program.local_bytes = kLocalBegin;
  if (place_shared() && decode_function(frame)) {
    instruction_ = nullptr;
    guard_ = kNoValue;
    emit(Action::kExit);  // behind the last instruction
  }
  if (!status_.is_ok()) return status_.in(kernel.name);
  return std::move(draft_);
}

// Shared variables of the module come first, those with a size that is only known at the launch
// last. All of the latter begin at the same address.
bool Decoder::place_shared() {
  Program& program = draft_.program;
  program.shared_bytes = kSharedBegin;
  std::uint64_t dynamic_alignment = 16;
  for (const text::Variable& variable : module_.variables) {
    if (variable.space != text::Space::kShared) continue;
    if (variable.bytes == 0) {
      dynamic_alignment = std::max<std::uint64_t>(dynamic_alignment, variable.alignment);
      continue;
    }
    shared_[variable.name] = {MemorySpace::kShared, place_shared_variable(variable, variable.name)};
  }
  for (const text::Function& function : module_.functions) {
    if (&function != frame_->function && function.is_entry) continue;
    for (const text::Variable& variable : function.variables) {
      if (variable.space != text::Space::kShared || variable.bytes == 0) continue;
      const std::string name = function.name + "/" + variable.name;
      shared_[name] = {MemorySpace::kShared, place_shared_variable(variable, variable.name)};
    }
  }
  if (program.shared_bytes > kSharedBegin + kSharedBytesMax) {
    return fail("shared variables take " + std::to_string(program.shared_bytes - kSharedBegin) +
                " bytes, more than " + std::to_string(kSharedBytesMax));
  }
  program.dynamic_shared_begin =
      static_cast<std::uint32_t>(aligned(program.shared_bytes, dynamic_alignment));
  for (const text::Variable& variable : module_.variables) {
    if (variable.space != text::Space::kShared || variable.bytes != 0) continue;
    shared_[variable.name] = {MemorySpace::kShared, program.dynamic_shared_begin};
    if (!program.has_dynamic_shared) {
      program.shared.push_back({variable.name, program.dynamic_shared_begin, 0});
    }
    program.has_dynamic_shared = true;
  }
  return true;
}

std::uint64_t Decoder::place_shared_variable(const text::Variable& variable,
                                             const std::string& name) {
  Program& program = draft_.program;
  const std::uint64_t begin = aligned(program.shared_bytes, variable.alignment);
  program.shared.push_back({name, begin, variable.bytes});
  program.shared_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(begin + variable.bytes, std::uint64_t{1} << 31));
  return begin;
}

Decoder::Location Decoder::place_local(const text::Variable& variable) {
  Program& program = draft_.program;
  const std::uint64_t begin = aligned(program.local_bytes, variable.alignment);
  if (begin + variable.bytes > kLocalBytesMax) {
    fail("local variables take more than " + std::to_string(kLocalBytesMax) + " bytes");
    return {};
  }
  program.local_bytes = static_cast<std::uint32_t>(begin + variable.bytes);
  return {MemorySpace::kLocal, begin};
}

void Decoder::place_variables(Frame& frame) {
  const text::Function& function = *frame.function;
  for (std::size_t i = frame.variables.size(); i < function.variables.size(); ++i) {
    const text::Variable& variable = function.variables[i];
    switch (variable.space) {
      case text::Space::kShared:
        frame.variables.push_back(
            variable.bytes == 0
                ? Location{MemorySpace::kShared, draft_.program.dynamic_shared_begin}
                : shared_[function.name + "/" + variable.name]);
        break;
      case text::Space::kLocal:
      case text::Space::kParam:
        frame.variables.push_back(place_local(variable));
        break;
      default: {
        const auto found = symbols_.find(function.name + "/" + variable.name);
        frame.variables.push_back(
            {MemorySpace::kGlobal, found != symbols_.end() ? found->second : 0});
      }
    }
  }
}

bool Decoder::decode_function(Frame& frame) {
  Frame* const caller = std::exchange(frame_, &frame);
  const text::Function& function = *frame.function;
  for (const text::Register& reg : function.registers) {
    const unsigned bits = bits_of(reg.type);
    frame.values.push_back(
        add_value(bits == 1 ? kPredicateWidth : static_cast<Width>(std::max(2U, bits / 8))));
    if (bits > 64) return fail("register '" + reg.name + "' has 128 bits");
  }
  place_variables(frame);
  for (const Instruction& instruction : function.instructions) {
    instruction_ = &instruction;
    frame.steps.push_back(static_cast<std::uint32_t>(draft_.program.steps.size()));
    if (instruction.guard) {
      guard_ = frame.values[instruction.guard->reg];
      is_guard_negated_ = instruction.guard->is_negated;
    } else {
      guard_ = kNoValue;
      is_guard_negated_ = false;
    }
    if (draft_.program.steps.size() > kStepsMax) return fail("the kernel is too long");
    if (!status_.is_ok() || !decode_instruction() || !status_.is_ok()) return false;
  }
  frame.steps.push_back(static_cast<std::uint32_t>(draft_.program.steps.size()));
  patch_branches(frame);
  frame_ = caller;
  return true;
}

void Decoder::patch_branches(Frame& frame) {
  for (const auto& [step, instruction] : frame.branches) {
    draft_.program.steps[step].target = frame.steps[instruction];
  }
  for (const auto& [detail, instruction] : frame.tables) {
    draft_.program.details[detail].targets.push_back(frame.steps[instruction]);
  }
}

bool Decoder::decode_instruction() {
  using Method = bool (Decoder::*)();
  static const std::unordered_map<std::string_view, Method> kMethods = {
      {"ld", &Decoder::decode_load_or_store},
      {"ldu", &Decoder::decode_load_or_store},
      {"st", &Decoder::decode_load_or_store},
      {"atom", &Decoder::decode_atomic},
      {"red", &Decoder::decode_atomic},
      {"cp", &Decoder::decode_async_copy},
      {"ldmatrix", &Decoder::decode_matrix_move},
      {"stmatrix", &Decoder::decode_matrix_move},
      {"mma", &Decoder::decode_matrix_product},
      {"mbarrier", &Decoder::decode_mbarrier},
      {"wgmma", &Decoder::decode_warpgroup},
      {"mapa", &Decoder::decode_mapped_address},
      {"getctarank", &Decoder::decode_rank_of_address},
      {"membar", &Decoder::decode_fence},
      {"fence", &Decoder::decode_fence},
      {"setmaxnreg", &Decoder::decode_register_count},
      {"bra", &Decoder::decode_branch},
      {"brx", &Decoder::decode_branch},
      {"call", &Decoder::decode_call},
      {"bar", &Decoder::decode_barrier},
      {"barrier", &Decoder::decode_barrier},
      {"shfl", &Decoder::decode_shuffle},
      {"vote", &Decoder::decode_vote},
      {"match", &Decoder::decode_match_or_reduce},
      {"redux", &Decoder::decode_match_or_reduce},
      {"setp", &Decoder::decode_compare},
      {"set", &Decoder::decode_compare},
      {"cvt", &Decoder::decode_convert},
      {"mov", &Decoder::decode_move},
      {"cvta", &Decoder::decode_address_conversion},
      {"isspacep", &Decoder::decode_space_test},
      {"addc", &Decoder::decode_carry},
      {"subc", &Decoder::decode_carry},
      {"madc", &Decoder::decode_carry}};
  const std::string_view opcode = instruction_->opcode;
  if (const auto found = kMethods.find(opcode); found != kMethods.end()) {
    return (this->*found->second)();
  }
  const auto& modifiers = instruction_->modifiers;
  if (std::find(modifiers.begin(), modifiers.end(), "cc") != modifiers.end()) {
    return decode_carry();
  }
  static const std::set<std::string_view> kSimple = {
      "exit",       "ret",       "trap",    "brkpt",         "nanosleep",
      "prefetch",   "prefetchu", "discard", "applypriority", "griddepcontrol",
      "activemask", "elect",     "pmevent"};
  if (kSimple.count(opcode) != 0) return decode_simple();
  return decode_lanes();
}

}  // namespace recto::ptx
