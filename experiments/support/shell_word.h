#pragma once

#include <string>

namespace recto::experiments {

// A path, or another argument, as it is typed into a shell: in quotes where it needs them.
std::string shell_word(const std::string& text);

}  // namespace recto::experiments
