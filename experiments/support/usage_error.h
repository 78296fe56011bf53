#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

#include "core/status.h"

namespace recto::experiments {

// What was wrong with a command line, in one line: which flag, what was found and expected. CLI11's
// own message is kept if it says so.
Status usage_error(const CLI::App& app, const CLI::ParseError& error);

// Checks for options that name a folder or file: an empty text, such as that of an unset variable,
// names none. Return what is wrong, or an empty text.
std::string check_folder_named(const std::string& text);
std::string check_file_named(const std::string& text);

// The same for options that are whole numbers below 2^64, such as seeds.
std::string check_whole_number(const std::string& text);

// The same for numbers from `min` to `max`. CLI::Range takes nan for one of these.
std::function<std::string(const std::string& text)> number_within(double min, double max);

}  // namespace recto::experiments
