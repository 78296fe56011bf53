#pragma once

// Groups the reasons for refusing cases, which differ in the sizes that they name.

#include <cctype>
#include <string>
#include <string_view>

namespace recto::verify {

// Maps reasons that differ only in numbers to the same text: each number becomes "*", except those
// that are part of a name, such as fp16, or 2^31.
inline std::string reason_kind(std::string_view reason) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '^';
  };
  std::string kind;
  for (std::size_t begin = 0; begin < reason.size();) {
    if (!is_of_name(reason[begin])) {
      kind += reason[begin++];
      continue;
    }
    std::size_t end = begin;
    bool is_number = true;
    for (; end < reason.size() && is_of_name(reason[end]); ++end)
      is_number = is_number && is_digit(reason[end]);
    kind += is_number ? "*" : std::string(reason.substr(begin, end - begin));
    begin = end;
  }
  return kind;
}

}  // namespace recto::verify
