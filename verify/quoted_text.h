#pragma once

// How reports set off quoted text: a case, a law's details, a library's message.

#include <string>
#include <string_view>

namespace recto::verify {

// Indents each line by two spaces and drops trailing newlines.
inline std::string indented(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string result = "  ";
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

// Such characters can steer a terminal, so text from a library is shown without them.
inline bool is_control_character(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code < 0x20 || code == 0x7f;
}

// "it printed" and the printed lines, with control characters other than newlines and tabs escaped;
// empty if nothing was printed.
std::string printed_text(const std::string& printed);

}  // namespace recto::verify
