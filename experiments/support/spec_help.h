#pragma once

#include <string>

namespace recto::experiments {

// How the texts and files are written that run flags take: for the end of --help, ended by a blank
// line, in at most 100 columns.
std::string spec_help();

}  // namespace recto::experiments
