#pragma once

// What the terminal can show, found out once at the start.

#include <cstdint>

namespace recto::experiments {

enum class Charset : std::uint8_t { kUtf8, kAscii };
enum class Colour : std::uint8_t { kNever, kAnsi };
enum class Progress : std::uint8_t { kSilent, kShown };  // on standard error

struct Terminal {
  Charset charset = Charset::kAscii;
  Colour colour = Colour::kNever;
  Progress progress = Progress::kSilent;
};

// UTF-8 if the locale is (LC_ALL, LC_CTYPE, LANG); colour if standard output is a terminal that is
// not dumb and NO_COLOR is empty; progress if standard error is a terminal.
Terminal detect_terminal();

}  // namespace recto::experiments
