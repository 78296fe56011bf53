#pragma once

// A pool as a bar: one stretch per state, as long as its share.

#include <cstddef>
#include <string>

#include "experiments/support/command.h"
#include "experiments/support/run.h"

namespace recto::experiments {

// Exactly `columns` wide. A state is drawn if it rounds to a column or more (largest remainders
// first, so that stretches add up).
std::string state_bar(const PoolShares& shares, std::size_t columns, const Terminal& terminal);
std::string state_bar(const PaperShares& shares, std::size_t columns, const Terminal& terminal);

// The legend of the stretches, on one line.
std::string state_legend(const Terminal& terminal);
std::string paper_legend(const Terminal& terminal);

}  // namespace recto::experiments
