#pragma once

// The one way in which files that a user names are opened to be read: it never waits. Opening a
// named pipe to which nobody writes would, and a device may never end.

#include <cstdio>
#include <memory>
#include <string>

#include "core/status.h"

namespace recto {

using InputFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// A regular file, or a pipe that is open already, such as the shell's <(...) and /dev/stdin.
// Invalid input for all else, with what was found or the system's reason, and without the path:
// callers have words of their own around it.
Result<InputFile> open_input_file(const std::string& path);

// All of it. Errors as of open_input_file; O(bytes).
Result<std::string> read_input_file(const std::string& path);

}  // namespace recto
