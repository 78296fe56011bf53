#pragma once

// What a flag is known to take, kept where CLI11 keeps it: in braces in the type of its option, as
// CLI::IsMember writes it. Help shows option_text() instead.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace recto::experiments {

// Offers `values`, of which each is a word, to whoever completes the flag; checks nothing.
void offer_values(CLI::Option& option, const std::vector<std::string>& values);

// Those of offer_values() or of CLI::IsMember, in their order; empty without any.
std::vector<std::string> offered_values(const CLI::Option& option);

}  // namespace recto::experiments
