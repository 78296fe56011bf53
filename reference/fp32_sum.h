#pragma once

// Sums in fp32, in the order and rounding that an Accumulation specifies.

#include <span>

#include "reference/fp32_arithmetic.h"
#include "reference/numerics.h"

namespace recto::reference {

// sum + a_0 b_0 + a_1 b_1 ... With several lanes, each step goes to the next lane's partial sum,
// which begins at 0; a tree adds the lanes, and `sum` is added last. (Truncating sums require
// 16-bit a and b.)
float add_products(float sum, std::span<const float> a, std::span<const float> b,
                   const Accumulation& how, const Fp32Arithmetic& arithmetic);

// The same for terms that are not products; each addition rounds to nearest.
float add_terms(float sum, std::span<const float> terms, const Accumulation& how,
                const Fp32Arithmetic& arithmetic);

}  // namespace recto::reference
