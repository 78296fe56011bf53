#pragma once

// A kernel between its text and its layout: steps over numbered values.

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/ptx/program/program.h"

namespace recto::ptx {

enum class ValueKind : std::uint8_t { kVariable, kConstant, kSpecial, kArgument };

struct Value {
  ValueKind kind = ValueKind::kVariable;
  Width width = 0;
  std::uint64_t bits = 0;  // of a constant
  SpecialValue special = SpecialValue::kTidX;
  ArgumentRow argument = {};
  // Only steps of one instruction, under one guard, have to do with it.
  bool is_temporary = false;
};

// Steps whose places are numbers of values; branches have their targets.
struct Draft {
  Program program;
  std::vector<Value> values;
};

// The fields that a step uses: d and e are results, the others operands.
struct Fields {
  ValuePlace d = kNoValue;
  Width d_width = 0;
  ValuePlace e = kNoValue;
  ValuePlace a = kNoValue;
  ValuePlace b = kNoValue;
  ValuePlace c = kNoValue;
};

// Adds values and steps to a draft.
class DraftBuilder {
 public:
  ValuePlace add_value(Width width);
  ValuePlace add_temporary(Width width);
  ValuePlace add_argument(const ArgumentRow& argument);
  ValuePlace constant(Width width, std::uint64_t bits);
  ValuePlace special(SpecialValue value, Width width);
  const Value& value(ValuePlace place) const { return draft_.values[place]; }

  struct Guard {
    ValuePlace predicate = kNoValue;
    bool is_negated = false;
  };
  // Steps belong to the instruction that was begun last.
  void begin_instruction(const text::Place& place, std::string text, const Guard& guard);
  bool has_guard() const { return guard_.predicate != kNoValue; }
  bool is_guard(ValuePlace value) const { return guard_.predicate == value; }
  Step& emit(Action action, const Fields& fields = {});
  Step& emit(Action action, Detail detail, const Fields& fields = {});
  // At most four operands. False if there is no such form.
  bool emit_form(std::string_view form, ValuePlace d, std::initializer_list<ValuePlace> operands);
  std::uint32_t num_steps() const {
    return static_cast<std::uint32_t>(draft_.program.steps.size());
  }

  Program& program() { return draft_.program; }
  const Program& program() const { return draft_.program; }
  Draft finish() { return std::move(draft_); }

 private:
  Draft draft_;
  std::map<std::pair<Width, std::uint64_t>, ValuePlace> constants_;
  std::map<std::pair<SpecialValue, Width>, ValuePlace> specials_;
  text::Place place_;
  std::string text_;
  Guard guard_;
};

}  // namespace recto::ptx
