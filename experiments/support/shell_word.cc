#include "experiments/support/shell_word.h"

#include <algorithm>
#include <string_view>

namespace recto::experiments {

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "@%+=:,./-_";
  const bool is_plain = !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace recto::experiments
