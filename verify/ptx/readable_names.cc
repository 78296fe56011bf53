#include "verify/ptx/readable_names.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>

namespace recto::ptx {
namespace {

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// The last part of "function(parameters)::variable", or "function" of "result
// function(parameters)".
std::string shortened(const std::string& name) {
  constexpr std::string_view kBehindParameters = ")::";
  const std::size_t variable = name.rfind(kBehindParameters);
  if (variable != std::string::npos) return name.substr(variable + kBehindParameters.size());
  std::size_t end = name.size();
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    const char c = name[i];
    if (c == ')' || c == '>') ++depth;
    if (c == '(' || c == '<') --depth;
    if (depth != 0) continue;
    if (c == '(' && end == name.size()) end = i;
    if (c == ' ') return name.substr(i + 1, end - i - 1);
  }
  return name.substr(0, end);
}

std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? shortened(demangled.get()) : name;
}

}  // namespace

std::string readable_names(std::string_view text) {
  std::string made;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins = i == 0 || !is_of_name(text[i - 1]);
    if (!begins || text.substr(i, 2) != "_Z") {
      made += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_of_name(text[end])) ++end;
    made += readable(std::string(text.substr(i, end - i)));
    i = end;
  }
  return made;
}

}  // namespace recto::ptx
