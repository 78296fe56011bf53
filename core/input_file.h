#pragma once

// The only way to open user-named files for reading. It never blocks: opening a named pipe without
// a writer would, and a device may never end.

#include <cstdio>
#include <memory>
#include <string>

#include "core/status.h"

namespace recto {

using InputFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Opens a regular file, or a pipe that is already open, such as the shell's <(...) and /dev/stdin.
// Invalid input for anything else; the message says what was found or gives the system's reason,
// but not the path, which callers add.
Result<InputFile> open_input_file(const std::string& path);

// Reads the whole file. Same errors as open_input_file. O(bytes).
Result<std::string> read_input_file(const std::string& path);

}  // namespace recto
