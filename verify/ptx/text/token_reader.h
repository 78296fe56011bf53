#pragma once

// Reads tokens one by one, keeps the first error, and parses what every part of a module has:
// numbers, types, and declarations of variables.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"
#include "verify/ptx/text/lexer.h"
#include "verify/ptx/text/syntax_tree.h"

namespace recto::ptx::text {

// `bits` of an integer literal, or of a floating-point one as a float or a double.
struct Number {
  OperandKind kind = OperandKind::kInteger;
  std::uint64_t bits = 0;
};

// "0x1F", "12U", "0f3F800000", "1.5"; nothing for other text and for integers of more than 64 bits.
std::optional<Number> number_of(std::string_view text);

// Functions that return bool return false after an error, which `status` then holds.
class TokenReader {
 public:
  explicit TokenReader(std::string_view text) : lexer_(text) { advance(); }

  const Token& now() const { return now_; }
  std::uint32_t line() const { return now_.line; }
  Status status() const { return failure_ ? *failure_ : Status::ok(); }
  bool has_failed() const { return failure_.has_value(); }

  void advance() { now_ = lexer_.next(); }
  bool take(char mark);  // takes the mark if it is next
  bool take_dotted(std::string_view word);
  bool expect(char mark);
  std::string take_text();  // the token's text; advances

  bool fail(std::uint32_t line, const std::string& message);
  bool fail_expecting(std::string_view what);  // "line 3: expected WHAT, got ';'"

  bool read_name(std::string* name);
  bool read_unsigned(std::uint64_t max, std::uint64_t* value);
  bool read_signed(std::int64_t* value);  // with any number of signs
  // Skips to the end of a declaration without meaning here, over balanced braces.
  bool skip_block();

  // After the space: [.align N] .type [.ptr ...] name [dimensions] [= values].
  bool read_variable(Space space, Variable* variable);

 private:
  bool read_attributes(Variable* variable);
  bool read_dimensions(Variable* variable);
  bool read_initial(Variable* variable);
  bool read_initial_list(Variable* variable, unsigned depth);
  bool read_initial_value(Variable* variable);

  Lexer lexer_;
  Token now_;
  std::optional<Status> failure_;
};

}  // namespace recto::ptx::text
