#include "verify/cases/npz/npy_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "core/number_in.h"
#include "verify/cases/npz/npy_format.h"

namespace recto::verify {
namespace {

struct TypeName {
  NpyType type;
  const char* descr;  // after the byte order
  const char* name;
  std::int64_t bytes;
};

constexpr TypeName kTypes[] = {
    {NpyType::kBool, "b1", "bool", 1},       {NpyType::kUint8, "u1", "uint8", 1},
    {NpyType::kInt16, "i2", "int16", 2},     {NpyType::kUint16, "u2", "uint16", 2},
    {NpyType::kInt32, "i4", "int32", 4},     {NpyType::kInt64, "i8", "int64", 8},
    {NpyType::kFloat16, "f2", "float16", 2}, {NpyType::kFloat32, "f4", "float32", 4},
    {NpyType::kFloat64, "f8", "float64", 8}, {NpyType::kBytes1, "V1", "void8", 1},
    {NpyType::kBytes2, "V2", "void16", 2}};

constexpr std::int64_t kCharacterBytes = 4;
constexpr std::int64_t kTextMax = 1 << 20;  // characters of one item

const TypeName* find_type(NpyType type) {
  const auto* const found = std::ranges::find(kTypes, type, &TypeName::type);
  return found == std::end(kTypes) ? nullptr : found;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string plain;
  for (const char c : text.substr(0, kLongest)) plain += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kLongest ? plain + "..." : plain;
}

Status wrong(std::string_view field, std::string_view expected, std::string_view found) {
  return Status::invalid_input(
      fmt::format("{}: expected {}, found {}", field, expected, shown(found)));
}

// Parses a Python dict of a text, a boolean and a tuple.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  Result<NpyHeader> parse() {
    if (!take('{')) return wrong("header", "a dict", rest_);
    while (!take('}')) {
      const std::optional<std::string_view> key = take_text();
      if (!key || !take(':')) return wrong("header", "'key': value", rest_);
      if (!seen_.insert(std::string(*key)).second) return wrong(*key, "it once", "it twice");
      RECTO_RETURN_IF_ERROR(read_value(*key));
      if (!take(',') && !is_next('}')) return wrong("header", "a comma or }", rest_);
    }
    skip_blanks();
    if (!rest_.empty()) return wrong("header", "nothing after the dict", rest_);
    for (const char* field : {"descr", "fortran_order", "shape"})
      if (!seen_.contains(field)) return wrong(field, "it in the header", "none");
    return header_;
  }

 private:
  void skip_blanks() {
    const std::size_t end = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(end, rest_.size()));
  }
  bool is_next(char c) {
    skip_blanks();
    return rest_.starts_with(c);
  }
  bool take(char c) {
    if (!is_next(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // In quotes of either kind; escapes are not supported, as no name here has any.
  std::optional<std::string_view> take_text() {
    skip_blanks();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  Status read_value(std::string_view key) {
    if (key == "descr") return read_type();
    if (key == "shape") return read_shape();
    if (key != "fortran_order") return wrong("header", "descr, fortran_order and shape", key);
    header_.is_fortran_order = take_word("True");
    if (header_.is_fortran_order || take_word("False")) return Status::ok();
    return wrong(key, "True or False", rest_);
  }

  Status read_type() {
    skip_blanks();
    const std::string_view begin = rest_;
    const std::optional<std::string_view> descr = take_text();
    if (!descr || descr->size() < 2) return wrong("descr", "one type, such as '<f4'", begin);
    if (descr->front() == '>') return wrong("descr", "little-endian items", *descr);
    if (descr->front() != '<' && descr->front() != '|') {
      return wrong("descr", "'<' or '|' first", *descr);
    }
    const std::string_view name = descr->substr(1);
    if (name.front() == 'O') return wrong("descr", "numbers, not Python's objects", *descr);
    if (name.front() == 'U') return read_text_type(name.substr(1));
    for (const TypeName& known : kTypes) {
      if (name != known.descr) continue;
      header_.type = known.type;
      header_.item_bytes = known.bytes;
      return Status::ok();
    }
    return wrong("descr", "bool, uint8, int16, uint16, int32, int64, float16, float32 or float64",
                 *descr);
  }

  Status read_text_type(std::string_view length) {
    const std::optional<std::int64_t> characters = whole(length);
    if (!characters || *characters < 1 || *characters > kTextMax) {
      return wrong("descr", fmt::format("1 to {} characters", kTextMax), length);
    }
    header_.type = NpyType::kText;
    header_.item_bytes = *characters * kCharacterBytes;
    return Status::ok();
  }

  Status read_shape() {
    if (!take('(')) return wrong("shape", "a tuple", rest_);
    while (!take(')')) {
      skip_blanks();
      const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      const std::optional<std::int64_t> size = whole(rest_.substr(0, digits));
      if (!size) return wrong("shape", "sizes from 0 to 2^63 - 1", rest_);
      header_.shape.push_back(*size);
      rest_.remove_prefix(digits);
      if (!take(',') && !is_next(')')) return wrong("shape", "a comma or )", rest_);
      if (header_.shape.size() > kNpyDimensionsMax) {
        return wrong("shape", fmt::format("at most {} sizes", kNpyDimensionsMax), "more");
      }
    }
    return Status::ok();
  }

  static std::optional<std::int64_t> whole(std::string_view digits) {
    const std::optional<std::int64_t> number = number_in<std::int64_t>(digits);
    return number && *number >= 0 ? number : std::nullopt;
  }

  std::string_view rest_;
  std::set<std::string> seen_;
  NpyHeader header_;
};

std::string descr_of(const NpyArray& array) {
  const TypeName* const known = find_type(array.type);
  if (known == nullptr) return fmt::format("<U{}", array.item_bytes / kCharacterBytes);
  const bool has_order = known->bytes > 1 && array.type != NpyType::kBytes2;
  return (has_order ? "<" : "|") + std::string(known->descr);
}

}  // namespace

std::string npy_type_name(const NpyArray& array) {
  const TypeName* const known = find_type(array.type);
  if (known != nullptr) return known->name;
  return fmt::format("text of length {}", array.item_bytes / kCharacterBytes);
}

std::string npy_array_text(const NpyArray& array) {
  if (array.shape.empty()) return npy_type_name(array) + " without dimensions";
  return fmt::format("{} [{}]", npy_type_name(array), fmt::join(array.shape, ", "));
}

std::string npy_header_text(const NpyArray& array) {
  std::string shape;
  for (const std::int64_t size : array.shape) shape += fmt::format("{}, ", size);
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.resize(shape.size() - 1);
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr_of(array),
                     shape);
}

Result<NpyHeader> parse_npy_header(std::string_view text) { return HeaderParser(text).parse(); }

}  // namespace recto::verify
