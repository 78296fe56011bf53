#pragma once

// Block tables that are read wrongly.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// Ids that are made up in place of read, and single blocks that are read from another place.
void add_tables(HypothesisTrial& trial);

// Rows of the table that are looked for at another distance from each other.
void add_table_strides(HypothesisTrial& trial);

}  // namespace recto::verify
