#include "experiments/report/packed_numbers.h"

#include <cstddef>
#include <string_view>

namespace recto::experiments {

std::string base64(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? bytes[i + j] : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const bool is_padding = i + j > bytes.size();
      text += is_padding ? '=' : kDigits[group >> (18 - 6 * j) & 63];
    }
  }
  return text;
}

std::string packed(std::span<const std::int64_t> numbers) {
  std::vector<std::uint8_t> bytes;
  std::uint64_t before = 0;
  for (const std::int64_t number : numbers) {
    const auto now = static_cast<std::uint64_t>(number);
    const auto difference = static_cast<std::int64_t>(now - before);
    before = now;
    std::uint64_t rest =
        static_cast<std::uint64_t>(difference) << 1 ^ static_cast<std::uint64_t>(difference >> 63);
    for (; rest >= 0x80; rest >>= 7) bytes.push_back(static_cast<std::uint8_t>(rest | 0x80));
    bytes.push_back(static_cast<std::uint8_t>(rest));
  }
  return base64(bytes);
}

}  // namespace recto::experiments
