#include "experiments/trace/token_count.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace recto::experiments {
namespace {

constexpr double kTokensMax = 1e15;  // whole numbers of this size are exact in a double

double unit_of(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K':
      return 1e3;
    case 'm':
    case 'M':
      return 1e6;
    case 'g':
    case 'G':
      return 1e9;
    default:
      return 1;
  }
}

}  // namespace

Result<TokenCount> parse_token_count(std::string_view text) {
  const double unit = text.empty() ? 1 : unit_of(text.back());
  const char* end = text.data() + text.size() - (unit == 1 ? 0 : 1);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // Rounded, since 1.1 is not exact; values that are not nearly whole are refused.
  const double tokens = std::round(value * unit);
  const bool is_whole = std::abs(value * unit - tokens) <= 1e-6;
  if (error == std::errc() && stop == end && is_whole && tokens >= 1 && tokens <= kTokensMax) {
    return TokenCount(static_cast<std::int64_t>(tokens));
  }
  return Status::invalid_input(
      fmt::format("found '{}'; expected tokens such as 500, 16k, 1.5M or 2G", text));
}

}  // namespace recto::experiments
