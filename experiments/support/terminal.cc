#include "experiments/support/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace recto::experiments {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// The first that is set decides, as POSIX has it.
bool has_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale(variable(name));
    if (locale.empty()) continue;
    for (char& c : locale) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

Terminal detect_terminal() {
  Terminal terminal;
  if (has_utf8_locale()) terminal.charset = Charset::kUtf8;
  const bool is_dumb = variable("TERM") == "dumb";
  if (isatty(STDOUT_FILENO) != 0 && !is_dumb && variable("NO_COLOR").empty()) {
    terminal.colour = Colour::kAnsi;
  }
  if (isatty(STDERR_FILENO) != 0 && !is_dumb) terminal.progress = Progress::kShown;
  return terminal;
}

}  // namespace recto::experiments
