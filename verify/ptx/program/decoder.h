#pragma once

// Turns a kernel of a module into steps. Functions that it calls become part of it.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/status.h"
#include "verify/ptx/program/instruction_reader.h"
#include "verify/ptx/program/program.h"

namespace recto::ptx {

// What a module's names stand for: addresses of global and constant variables.
using Symbols = std::unordered_map<std::string, std::uint64_t>;

enum class ValueKind : std::uint8_t { kVariable, kConstant, kSpecial, kArgument };

struct Value {
  ValueKind kind = ValueKind::kVariable;
  Width width = 0;
  std::uint64_t bits = 0;  // of a constant
  SpecialValue special = SpecialValue::kTidX;
  ArgumentRow argument = {};
};

// Steps whose places are numbers of values; branches have their targets.
struct Draft {
  Program program;
  std::vector<Value> values;
};

class Decoder {
 public:
  Decoder(const text::Module& module, const Symbols& symbols)
      : module_(module), symbols_(symbols) {}

  // Invalid input: what cannot be run, by line and instruction. O(instructions).
  Result<Draft> decode(const text::Function& kernel);

 private:
  using Instruction = text::Instruction;
  using Operand = text::Operand;

  // Where a variable of a function is.
  struct Location {
    MemorySpace space = MemorySpace::kLocal;
    std::uint64_t address = 0;
  };
  // A function while it is decoded, as often as it is called.
  struct Frame {
    const text::Function* function = nullptr;
    const Frame* caller = nullptr;
    std::vector<std::uint32_t> values = {};  // of its registers
    std::vector<Location> variables = {};
    std::vector<std::uint32_t> steps = {};  // where each instruction begins
    std::uint32_t carry = kNoValue;         // of add.cc
    // Branches that await their targets: the step or the entry of a table, and the instruction.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> branches = {};
    std::vector<std::pair<std::uint32_t, std::uint32_t>> tables = {};  // details
    unsigned depth = 0;
  };

  // Functions that return bool return false after an error.
  bool fail(const std::string& message);
  bool refuse();  // the current instruction as a whole
  bool decode_function(Frame& frame);
  void place_variables(Frame& frame);
  Location place_local(const text::Variable& variable);
  bool place_shared();
  std::uint64_t place_shared_variable(const text::Variable& variable, const std::string& name);
  void patch_branches(Frame& frame);
  bool decode_instruction();

  // decoder_lanes.cc
  bool decode_lanes();
  bool emit_form(std::string form, const std::vector<const Operand*>& operands);
  const LaneForm* form_of(const std::string& form, std::string_view opcode) const;
  bool decode_carry();
  bool decode_compare();
  bool decode_convert();
  bool decode_move();
  bool decode_pack(ScalarType type);
  bool decode_unpack(ScalarType type);
  bool decode_address_conversion();
  bool decode_space_test();

  // decoder_memory.cc, decoder_matrix.cc
  bool decode_load_or_store();
  bool decode_atomic();
  bool decode_matrix_move();
  bool decode_matrix_product();
  bool read_memory_operand(const Operand& operand, MemorySpace space, MemoryOperand* memory);
  bool load_argument(const Detail& detail, const std::vector<const Operand*>& registers);
  bool read_ordering(InstructionReader& reader, Detail* detail);

  // decoder_async.cc, decoder_mbarrier.cc, decoder_warpgroup.cc
  bool decode_async_copy();
  bool decode_copy_arrival(InstructionReader& reader);
  bool decode_mbarrier();
  bool decode_mbarrier_wait(InstructionReader& reader, Detail detail);
  bool read_mbarrier(InstructionReader& reader, const Operand& operand, Detail* detail);
  bool emit_mbarrier(Detail detail, ValuePlace operand, ValuePlace d);
  bool decode_bulk_copy(InstructionReader& reader);
  bool decode_bulk_wait(InstructionReader& reader);
  bool read_bulk_operands(Detail* detail);
  bool read_coordinates(const Operand& operand, Detail* detail);
  bool decode_warpgroup();
  bool decode_warpgroup_product(InstructionReader& reader);
  bool read_factors(InstructionReader& reader, Detail* detail);

  // decoder_cluster.cc
  bool decode_cluster_barrier(InstructionReader& reader);
  bool decode_mapped_address();
  bool decode_rank_of_address();
  bool decode_fence();
  bool decode_register_count();

  // decoder_control.cc, decoder_warp.cc
  bool decode_branch();
  bool decode_call();
  bool decode_system_call(const std::string& name, const Operand* arguments);
  bool decode_barrier();
  bool decode_shuffle();
  bool decode_vote();
  bool decode_match_or_reduce();
  bool decode_simple();  // exit, ret, trap, fences, hints

  // decoder_values.cc. These report an error and give a value nonetheless if the operand does not
  // fit.
  ValuePlace add_value(Width width);
  ValuePlace constant(Width width, std::uint64_t bits);
  ValuePlace special(SpecialValue value, Width width);
  ValuePlace source(const Operand& operand, Width width, ScalarType type);
  ValuePlace predicate(const Operand& operand);
  ValuePlace result(const Operand& operand, Width width);  // a sink gets a value that none reads
  // Of a register wider than the instruction's type; and a result to be extended to one.
  Width register_width(const Operand& operand) const;
  ValuePlace address_constant(const Operand& operand);
  bool special_register(const Operand& operand, Width width, ValuePlace* value);

  // Steps.
  Step& emit(Action action);
  Detail& emit_detail(Action action);  // adds both
  // At most four operands.
  void emit_lanes(std::string_view form, ValuePlace d, std::initializer_list<ValuePlace> operands);

  const text::Module& module_;
  const Symbols& symbols_;
  Draft draft_;
  Status status_;
  std::map<std::pair<Width, std::uint64_t>, ValuePlace> constants_;
  std::map<std::pair<SpecialValue, Width>, ValuePlace> specials_;
  std::map<std::string, Location> shared_;  // of the module
  Frame* frame_ = nullptr;
  const Instruction* instruction_ = nullptr;
  ValuePlace guard_ = kNoValue;
  bool is_guard_negated_ = false;
};

}  // namespace recto::ptx
