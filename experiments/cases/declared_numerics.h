#pragma once

// How a kernel computes, as its author declares it in a flag.

#include <string>

#include "core/status.h"
#include "experiments/support/command.h"
#include "reference/numerics.h"

namespace recto::experiments {

// Parses "p=bf16,products=bf16,partials=fp16,exp=approx,accumulate=fp32,sum=rounded", or a part of
// it. Invalid input names the field, and what was expected.
Result<reference::DeclaredNumerics> parse_declared_numerics(const std::string& text);

// The same as a flag, preceded by a space; "" if nothing is declared.
std::string numerics_flag_text(const reference::DeclaredNumerics& declared);

// Adds --numerics.
void add_numerics_flag(Command& command, reference::DeclaredNumerics& declared);

}  // namespace recto::experiments
