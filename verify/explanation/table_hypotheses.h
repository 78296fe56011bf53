#pragma once

// Faults in reading block tables.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// Tries ids that are computed instead of read, and single blocks that are read from another place.
void add_tables(HypothesisTrial& trial);

// Tries rows of the table that are read with another stride.
void add_table_strides(HypothesisTrial& trial);

}  // namespace recto::verify
