#include "sim/traces/text_fields.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <system_error>

#include "core/units.h"

namespace recto::sim {
namespace {

// Larger exponents exceed every unit of time; the bound keeps sums from overflowing.
constexpr int kExponentMax = 1000;

std::size_t count_digits(std::string_view text) {
  const auto first_other =
      std::find_if(text.begin(), text.end(), [](char c) { return c < '0' || c > '9'; });
  return static_cast<std::size_t>(first_other - text.begin());
}

std::optional<int> parse_exponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  const std::optional<std::int64_t> exponent = parse_integer(text);
  if (!exponent) return std::nullopt;
  return static_cast<int>(std::clamp<std::int64_t>(*exponent, -kExponentMax, kExponentMax));
}

// Appends `digit` to the decimal `value`; false if that overflows.
bool append_digit(std::int64_t& value, int digit) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (value > (kMax - digit) / 10) return false;
  value = value * 10 + digit;
  return true;
}

constexpr std::int64_t kSecondsPerMinute = 60;
constexpr std::int64_t kSecondsPerHour = 3600;
constexpr int kYearMin = 1970;
constexpr int kYearMax = 2261;  // the last whole year that 64 bits of nanoseconds reach

// Consumes fixed-width pieces of a text; if one does not match, the whole text is invalid.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  // A number of exactly `width` digits, at most `max`.
  int number(std::size_t width, int max) {
    int value = 0;
    if (rest_.size() < width) return spoil();
    for (const char c : rest_.substr(0, width)) {
      if (c < '0' || c > '9') return spoil();
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(width);
    return value <= max ? value : spoil();
  }

  void one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) {
      spoil();
    } else {
      rest_.remove_prefix(1);
    }
  }

  bool skip(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Nanoseconds of a fraction ".6805900", or 0 without one.
  std::int64_t fraction_ns() {
    if (!rest_.starts_with('.')) return 0;
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789", 1), rest_.size());
    const std::optional<std::int64_t> ns = parse_scaled_decimal(rest_.substr(0, end), 9);
    rest_.remove_prefix(end);
    return ns ? *ns : spoil();
  }

  bool at_end() const { return rest_.empty(); }
  bool is_good() const { return state_ == State::kGood; }

 private:
  enum class State { kGood, kSpoilt };

  int spoil() {
    state_ = State::kSpoilt;
    return 0;
  }

  std::string_view rest_;
  State state_ = State::kGood;
};

// Seconds east of Greenwich.
std::int64_t scan_offset(Scanner& scanner) {
  if (scanner.at_end() || scanner.skip('Z')) return 0;
  const bool is_west = scanner.skip('-');
  if (!is_west) scanner.one_of("+");
  const std::int64_t hours = scanner.number(2, 23);
  std::int64_t minutes = 0;
  if (scanner.skip(':') || !scanner.at_end()) minutes = scanner.number(2, 59);
  const std::int64_t seconds = hours * kSecondsPerHour + minutes * kSecondsPerMinute;
  return is_west ? -seconds : seconds;
}

}  // namespace

Status CsvFields::split(std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(line.size());  // views into it must stay valid while the line is split
  std::string_view rest = line;
  while (true) {
    if (rest.starts_with('"')) {
      RECTO_RETURN_IF_ERROR(split_quoted(rest));
    } else {
      // Fields have only a few bytes, so a loop is faster than a memchr call per field.
      std::size_t length = 0;
      while (length < rest.size() && rest[length] != ',') ++length;
      const std::string_view field = rest.substr(0, length);
      fields_.push_back(field);
      rest.remove_prefix(field.size());
    }
    if (rest.empty()) return Status::ok();
    rest.remove_prefix(1);  // the comma; another field follows, even if it is empty
  }
}

Status CsvFields::split_quoted(std::string_view& rest) {
  const std::string which = "column " + std::to_string(fields_.size() + 1);
  const std::size_t start = unquoted_.size();
  std::size_t i = 1;
  while (true) {
    const std::size_t quote = rest.find('"', i);
    if (quote == std::string_view::npos) {
      return Status::invalid_input(which + ": expected a closing quote on the same line");
    }
    unquoted_.append(rest.substr(i, quote - i));
    i = quote + 1;
    if (i == rest.size() || rest[i] != '"') break;
    unquoted_.push_back('"');
    ++i;
  }
  rest.remove_prefix(i);
  if (!rest.empty() && rest.front() != ',') {
    return Status::invalid_input(which + ": expected a comma after the closing quote");
  }
  fields_.push_back(std::string_view(unquoted_).substr(start));
  return Status::ok();
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_scaled_decimal(std::string_view text, int power) {
  const std::string_view whole = text.substr(0, count_digits(text));
  std::string_view rest = text.substr(whole.size());
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = rest.substr(0, count_digits(rest));
    rest.remove_prefix(fraction.size());
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  const std::optional<int> exponent = parse_exponent(rest);
  if (!exponent) return std::nullopt;

  // Among the digits, whole part first, `kept` precede the point of the result.
  const auto digits = static_cast<std::int64_t>(whole.size() + fraction.size());
  const std::int64_t kept = static_cast<std::int64_t>(whole.size()) + *exponent + power;
  const auto digit_at = [&](std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    return (i < whole.size() ? whole[i] : fraction[i - whole.size()]) - '0';
  };
  std::int64_t value = 0;
  for (std::int64_t i = 0; i < std::min(kept, digits); ++i) {
    if (!append_digit(value, digit_at(i))) return std::nullopt;
  }
  for (std::int64_t i = digits; i < kept && value > 0; ++i) {
    if (!append_digit(value, 0)) return std::nullopt;
  }
  if (kept >= 0 && kept < digits && digit_at(kept) >= 5) {
    if (value == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    ++value;
  }
  return value;
}

std::optional<std::int64_t> parse_timestamp(std::string_view text) {
  Scanner scanner(text);
  const int year = scanner.number(4, kYearMax);
  scanner.one_of("-");
  const int month = scanner.number(2, 12);
  scanner.one_of("-");
  const int day = scanner.number(2, 31);
  scanner.one_of(" T");
  const int hour = scanner.number(2, 23);
  scanner.one_of(":");
  const int minute = scanner.number(2, 59);
  scanner.one_of(":");
  const int second = scanner.number(2, 59);
  const std::int64_t fraction = scanner.fraction_ns();
  const std::int64_t offset = scan_offset(scanner);

  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!scanner.is_good() || !scanner.at_end() || year < kYearMin || !date.ok()) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t seconds = days * 24 * kSecondsPerHour + hour * kSecondsPerHour +
                               minute * kSecondsPerMinute + second - offset;
  return seconds * kNanosecondsPerSecond + fraction;
}

}  // namespace recto::sim
