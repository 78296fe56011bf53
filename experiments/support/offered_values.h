#pragma once

// The values that a flag is known to take, kept where CLI11 keeps them: in braces in the type of
// its option, as CLI::IsMember writes them. Help shows option_text() instead.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace recto::experiments {

// Offers `values`, each a single word, for completion of the flag; checks nothing.
void offer_values(CLI::Option& option, const std::vector<std::string>& values);

// The values of offer_values() or CLI::IsMember, in their order; empty if there are none.
std::vector<std::string> offered_values(const CLI::Option& option);

}  // namespace recto::experiments
