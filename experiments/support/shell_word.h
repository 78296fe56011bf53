#pragma once

#include <string>

namespace recto::experiments {

// A path, or another argument, as it is typed into a shell: in quotes if it needs them.
std::string shell_word(const std::string& text);

}  // namespace recto::experiments
