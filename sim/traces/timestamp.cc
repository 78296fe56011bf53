#include "sim/traces/timestamp.h"

#include <algorithm>
#include <chrono>

#include "core/units.h"
#include "sim/traces/decimal.h"

namespace recto::sim {
namespace {

constexpr std::int64_t kSecondsPerMinute = 60;
constexpr std::int64_t kSecondsPerHour = 3600;
constexpr int kYearMin = 1970;
constexpr int kYearMax = 2261;  // the last whole year that 64 bits of nanoseconds reach

// Takes fixed-width pieces off the front of a text; if one does not fit, the whole is invalid.
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
