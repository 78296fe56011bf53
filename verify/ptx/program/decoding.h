#pragma once

// What functions that decode an instruction work with: its modifiers, its operands as values, and
// the draft of the kernel.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "verify/ptx/program/draft.h"
#include "verify/ptx/program/instruction_reader.h"
#include "verify/ptx/program/variables.h"

namespace recto::ptx {

using text::Operand;
using text::OperandKind;

// A function while it is decoded, as often as it is called.
struct Frame {
  const text::Function* function = nullptr;
  const Frame* caller = nullptr;
  std::vector<Location> variables = {};
  std::vector<ValuePlace> values = {};    // of its registers
  std::vector<std::uint32_t> steps = {};  // where each instruction begins
  ValuePlace carry = kNoValue;            // of add.cc
  // Branches that await their targets: the step or the entry of a table, and the instruction.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> branches = {};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tables = {};  // details
  unsigned depth = 0;
};

class Decoding : public InstructionReader, public DraftBuilder {
 public:
  Decoding(const text::Module& module, const Symbols& symbols)
      : module_(module), variables_(module, symbols, program()) {}

  const text::Module& module() const { return module_; }
  Variables& variables() { return variables_; }
  Frame& frame() { return *frame_; }
  Frame* exchange_frame(Frame* frame) { return std::exchange(frame_, frame); }

  // Adds the size of a function that is called; the sum so far.
  std::size_t count_called(std::size_t size) { return called_ += size; }

  void begin(const text::Instruction& instruction);
  const text::Instruction& instruction() const { return *instruction_; }
  std::string_view opcode() const { return instruction_->opcode; }
  const std::vector<Operand>& operands() const { return instruction_->operands; }
  bool has_modifier(std::string_view modifier) const;

  // The first error counts. What is decoded after it does not matter.
  void fail(const std::string& message);
  void refuse() { fail("not an instruction that can be run here"); }
  void check(const Status& status);
  const Status& status() const { return status_; }
  // Fails and is false unless there are so many, and with .L2::cache_hint a policy of caches after
  // them, which does not matter here.
  bool has_operands(std::size_t count);

  // Values of operands. They fail and give a value nonetheless if the operand does not fit.
  ValuePlace source(const Operand& operand, Width width, ScalarType type);
  ValuePlace source32(const Operand& operand) { return source(operand, 4, ScalarType::kB32); }
  ValuePlace predicate(const Operand& operand);
  ValuePlace result(const Operand& operand, Width width);  // a sink gets one that no step reads
  // A result of 32 bits, and with "d|p" a predicate.
  Fields results(const Operand& operand);
  MemoryOperand memory(const Operand& operand, MemorySpace space);
  Width register_width(const Operand& operand) const;  // 0: no register

  // At most four operands.
  void emit_lanes(std::string_view form, ValuePlace d, std::initializer_list<ValuePlace> operands);
  ValuePlace emit_value(std::string_view form, Width width,
                        std::initializer_list<ValuePlace> operands);

 private:
  ValuePlace special_register(const Operand& operand, Width width);
  Location location(const Operand& operand);

  const text::Module& module_;
  Variables variables_;
  Frame* frame_ = nullptr;
  const text::Instruction* instruction_ = nullptr;
  Status status_;
  std::size_t called_ = 0;
};

}  // namespace recto::ptx
