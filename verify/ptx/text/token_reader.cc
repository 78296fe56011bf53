#include "verify/ptx/text/token_reader.h"

#include <bit>
#include <charconv>
#include <limits>

namespace recto::ptx::text {
namespace {

constexpr std::uint64_t kVariableBytesMax = std::uint64_t{1} << 40;
constexpr unsigned kNestingMax = 16;

std::optional<std::uint64_t> digits_of(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<Number> integer_of(std::string_view text) {
  if (text.back() == 'U') text.remove_suffix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const bool is_hex = text[1] == 'x' || text[1] == 'X';
    const bool is_binary = text[1] == 'b' || text[1] == 'B';
    base = is_hex ? 16 : is_binary ? 2 : 8;
    text.remove_prefix(is_hex || is_binary ? 2 : 1);
  }
  const std::optional<std::uint64_t> value = digits_of(text, base);
  if (!value) return {};
  return Number{OperandKind::kInteger, *value};
}

}  // namespace

std::optional<Number> number_of(std::string_view text) {
  if (text.empty()) return {};
  const char letter = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : ' ';
  if (letter == 'f' || letter == 'd') {
    const std::size_t digits = letter == 'f' ? 8 : 16;
    if (text.size() != 2 + digits) return {};
    const std::optional<std::uint64_t> bits = digits_of(text.substr(2), 16);
    if (!bits) return {};
    return Number{letter == 'f' ? OperandKind::kFloat32 : OperandKind::kFloat64, *bits};
  }
  if (letter != 'x' && text.find_first_of(".eE") != std::string_view::npos) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return Number{OperandKind::kFloat64, std::bit_cast<std::uint64_t>(value)};
  }
  return integer_of(text);
}

bool TokenReader::take(char mark) {
  if (!now_.is(mark)) return false;
  advance();
  return true;
}

bool TokenReader::take_dotted(std::string_view word) {
  if (!now_.is_dotted(word)) return false;
  advance();
  return true;
}

bool TokenReader::expect(char mark) {
  if (take(mark)) return true;
  return fail_expecting(std::string("'") + mark + "'");
}

std::string TokenReader::take_text() {
  std::string text(now_.text);
  advance();
  return text;
}

bool TokenReader::fail(std::uint32_t line, const std::string& message) {
  if (!failure_) {
    failure_ = Status::invalid_input("line " + std::to_string(line) + ": " + message);
  }
  return false;
}

bool TokenReader::fail_expecting(std::string_view what) {
  std::string got;
  switch (now_.kind) {
    case TokenKind::kEnd:
      got = "the end of the text";
      break;
    case TokenKind::kBad:
      got = std::string(now_.text);
      break;
    case TokenKind::kDotted:
      got = "'." + std::string(now_.text.substr(0, 60)) + "'";
      break;
    default:
      got = "'" + std::string(now_.text.substr(0, 60)) + "'";
  }
  return fail(now_.line, "expected " + std::string(what) + ", got " + got);
}

bool TokenReader::read_name(std::string* name) {
  if (now_.kind != TokenKind::kWord) return fail_expecting("a name");
  *name = take_text();
  return true;
}

bool TokenReader::read_unsigned(std::uint64_t max, std::uint64_t* value) {
  const std::optional<Number> number =
      now_.kind == TokenKind::kNumber ? number_of(now_.text) : std::nullopt;
  if (!number || number->kind != OperandKind::kInteger || number->bits > max) {
    return fail_expecting("an integer of at most " + std::to_string(max));
  }
  *value = number->bits;
  advance();
  return true;
}

bool TokenReader::read_signed(std::int64_t* value) {
  bool is_negative = false;
  while (now_.is('-') || now_.is('+')) {
    is_negative ^= now_.is('-');
    advance();
  }
  std::uint64_t magnitude = 0;
  if (!read_unsigned(std::numeric_limits<std::uint64_t>::max(), &magnitude)) return false;
  *value = static_cast<std::int64_t>(is_negative ? 0 - magnitude : magnitude);
  return true;
}

bool TokenReader::skip_block() {
  std::uint64_t depth = 0;
  for (;; advance()) {
    if (now_.kind == TokenKind::kEnd || now_.kind == TokenKind::kBad) return fail_expecting("'}'");
    if (now_.is('{')) ++depth;
    if (now_.is('}') && depth-- <= 1) break;
  }
  advance();
  return true;
}

bool TokenReader::read_variable(Space space, Variable* variable) {
  variable->space = space;
  variable->line = line();
  if (!read_attributes(variable)) return false;
  if (!read_name(&variable->name) || !read_dimensions(variable)) return false;
  if (variable->is_array && variable->bytes == 0 && space != Space::kShared &&
      !variable->is_extern && !now_.is('=')) {
    return fail(variable->line, "'" + variable->name + "' has no size");
  }
  return !take('=') || read_initial(variable);
}

bool TokenReader::read_attributes(Variable* variable) {
  bool has_type = false;
  bool is_pointer = false;
  std::uint64_t vector = 1;
  std::uint64_t alignment = 0;
  while (now_.kind == TokenKind::kDotted) {
    if (take_dotted("align")) {
      std::uint64_t given = 0;
      if (!read_unsigned(1 << 16, &given)) return false;
      if (!std::has_single_bit(given)) return fail(line(), "an alignment is a power of two");
      if (!is_pointer) alignment = given;
    } else if (take_dotted("ptr")) {
      is_pointer = true;
    } else if (now_.is_dotted("v2") || now_.is_dotted("v4")) {
      vector = static_cast<std::uint64_t>(now_.text[1] - '0');
      advance();
    } else if (const auto type = scalar_type(now_.text); type && !has_type) {
      if (*type == ScalarType::kPred) return fail_expecting("a type that memory can hold");
      variable->type = *type;
      has_type = true;
      advance();
    } else if (is_pointer && (now_.text == "global" || now_.text == "shared" ||
                              now_.text == "const" || now_.text == "local")) {
      advance();
    } else {
      return fail_expecting("the type of a variable");
    }
  }
  if (!has_type) return fail_expecting("the type of a variable");
  variable->bytes = vector * bytes_of(variable->type);
  variable->alignment = static_cast<std::uint32_t>(alignment != 0 ? alignment : variable->bytes);
  return true;
}

bool TokenReader::read_dimensions(Variable* variable) {
  while (take('[')) {
    std::uint64_t count = 0;
    if (!now_.is(']') && !read_unsigned(kVariableBytesMax, &count)) return false;
    if (count != 0 && variable->bytes > kVariableBytesMax / count) {
      return fail(line(), "'" + variable->name + "' is too large");
    }
    variable->bytes *= count;
    variable->is_array = true;
    if (!expect(']')) return false;
  }
  return true;
}

bool TokenReader::read_initial(Variable* variable) {
  const std::uint64_t declared = variable->bytes;
  variable->bytes = 0;  // counts the values
  const bool is_read = now_.is('{') ? read_initial_list(variable, 0) : read_initial_value(variable);
  if (!is_read) return false;
  if (declared != 0 && variable->bytes > declared) {
    return fail(line(), "'" + variable->name + "' has more initial values than elements");
  }
  if (declared != 0) variable->bytes = declared;
  return true;
}

// The braces of inner dimensions are taken to be complete, as compilers write them.
bool TokenReader::read_initial_list(Variable* variable, unsigned depth) {
  if (depth > kNestingMax) return fail(line(), "braces are nested too deeply");
  if (!expect('{')) return false;
  while (!now_.is('}')) {
    const bool is_read =
        now_.is('{') ? read_initial_list(variable, depth + 1) : read_initial_value(variable);
    if (!is_read) return false;
    if (!take(',')) break;
  }
  return expect('}');
}

bool TokenReader::read_initial_value(Variable* variable) {
  InitialValue value{variable->bytes, bytes_of(variable->type), 0, {}, false};
  variable->bytes += value.bytes;
  if (now_.kind == TokenKind::kWord) {
    value.is_generic = now_.text == "generic";
    if (value.is_generic) advance();
    const bool has_parenthesis = value.is_generic && take('(');
    std::int64_t offset = 0;
    if (!read_name(&value.symbol)) return false;
    if (has_parenthesis && !expect(')')) return false;
    if (now_.is('+') && !read_signed(&offset)) return false;
    if (value.bytes != 8) return fail(line(), "an address needs a type of 64 bits");
    value.bits = static_cast<std::uint64_t>(offset);
  } else {
    bool is_negative = false;
    while (take('-')) is_negative = !is_negative;
    const std::optional<Number> number =
        now_.kind == TokenKind::kNumber ? number_of(now_.text) : std::nullopt;
    if (!number) return fail_expecting("an initial value");
    advance();
    value.bits = number->bits;
    if (number->kind == OperandKind::kFloat64 && value.bytes == 4) {
      const auto narrow = static_cast<float>(std::bit_cast<double>(number->bits));
      value.bits = std::bit_cast<std::uint32_t>(narrow);
    }
    if (is_negative && number->kind == OperandKind::kInteger) value.bits = 0 - value.bits;
    if (is_negative && number->kind != OperandKind::kInteger) {
      value.bits ^= std::uint64_t{1} << (8 * value.bytes - 1);
    }
  }
  // Zeros are what memory holds anyway.
  if (value.bits != 0 || !value.symbol.empty()) variable->initial.push_back(std::move(value));
  return true;
}

}  // namespace recto::ptx::text
