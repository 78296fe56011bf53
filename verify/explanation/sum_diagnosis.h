#pragma once

// What is told of a row whose sum of weights is wrong.

#include <string>

#include "verify/explanation/diagnosis.h"

namespace recto::verify {

// What makes a sum `factor` times what it should be while the products with V are right.
std::string sum_causes(const RowProbe& probe, double factor);
// "too small", "too large".
const char* size_text(double factor);

// Of a row whose lse and weights are wrong, in a way that no score, missing key or extra key
// accounts for.
Diagnosis of_another_sum(const RowProbe& probe);

}  // namespace recto::verify
