#include "verify/quoted_text.h"

#include <fmt/format.h>

#include <cstddef>

namespace recto::verify {
namespace {

// Escapes control characters: those of ASCII, and C2 80 to C2 9F in UTF-8.
std::string escaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (c == '\xc2' && next >= 0x80 && next < 0xa0) {
      result += fmt::format("\\xc2\\x{:02x}", next);
      ++i;
    } else if (is_control_character(c) && c != '\n' && c != '\t') {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string printed_text(const std::string& printed) {
  return printed.empty() ? "" : "it printed\n" + indented(escaped(printed));
}

}  // namespace recto::verify
