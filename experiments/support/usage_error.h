#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "core/status.h"

namespace recto::experiments {

// What was wrong with a command line, in one line: which flag, what was found and expected. CLI11's
// own words stay where they say it.
Status usage_error(const CLI::App& app, const CLI::ParseError& error);

// A check of options that name a folder: an empty text, such as a variable that is not set, names
// none. What is wrong, or empty.
std::string check_folder_named(const std::string& text);
std::string check_file_named(const std::string& text);

// The same of options that are whole numbers below 2^64, such as seeds.
std::string check_whole_number(const std::string& text);

}  // namespace recto::experiments
