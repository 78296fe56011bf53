#pragma once

// Sums in fp32, term by term as an Accumulation says.

#include <span>

#include "reference/fp32_arithmetic.h"
#include "reference/numerics.h"

namespace recto::reference {

// sum + a_0 b_0 + a_1 b_1 ... With several lanes each step goes to the next one's partial sum,
// which begin at 0; a tree adds them up, and `sum` last. (Truncating sums: a and b of 16 bits.)
float add_products(float sum, std::span<const float> a, std::span<const float> b,
                   const Accumulation& how, const Fp32Arithmetic& arithmetic);

// The same of terms that are not products, each addition to nearest.
float add_terms(float sum, std::span<const float> terms, const Accumulation& how,
                const Fp32Arithmetic& arithmetic);

}  // namespace recto::reference
