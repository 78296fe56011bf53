#pragma once

#include <string>

namespace recto::experiments {

// How to write the texts and files that run flags take: for the end of --help, with a blank line
// after it, in at most 100 columns.
std::string spec_help();

}  // namespace recto::experiments
