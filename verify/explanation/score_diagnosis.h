#pragma once

// What is told of a row by the scores that its weights and its lse imply.

#include <optional>

#include "verify/explanation/diagnosis.h"
#include "verify/explanation/weight_facts.h"

namespace recto::verify {

// If each key's weight is that beside a maximum as it was before all keys were read. `keys` are
// wrong.
std::optional<Diagnosis> of_running_maximum(const RowProbe& probe, const Keys& keys);

// The scores of `departing`, which are some, are off.
Diagnosis of_scores(const RowProbe& probe, const Keys& departing);

}  // namespace recto::verify
