#include "reference/fp32_sum.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/contract.h"
#include "reference/truncated_sum.h"

namespace recto::reference {
namespace {

// Adds neighbours, then neighbouring pairs, and so on: each lane passes ceil(log2(lanes))
// additions.
float tree_sum(std::vector<float>& lanes, const Fp32Arithmetic& arithmetic) {
  for (std::size_t apart = 1; apart < lanes.size(); apart *= 2) {
    for (std::size_t lane = 0; lane + apart < lanes.size(); lane += 2 * apart) {
      lanes[lane] = arithmetic.flushed(lanes[lane] + lanes[lane + apart]);
    }
  }
  return lanes[0];
}

// `step(sum, first, count)` adds terms [first, first + count) to a partial sum.
template <typename Step>
float add_steps(float sum, std::size_t terms, const Accumulation& how,
                const Fp32Arithmetic& arithmetic, const Step& step) {
  RECTO_CHECK_GE(how.lanes, 1);
  RECTO_CHECK_GE(how.terms_per_step, 1);
  const auto per_step = static_cast<std::size_t>(how.terms_per_step);
  if (how.lanes == 1) {
    for (std::size_t first = 0; first < terms; first += per_step) {
      sum = step(sum, first, std::min(per_step, terms - first));
    }
    return sum;
  }
  std::vector<float> lanes(static_cast<std::size_t>(how.lanes), 0.0F);
  std::size_t lane = 0;
  for (std::size_t first = 0; first < terms; first += per_step) {
    lanes[lane] = step(lanes[lane], first, std::min(per_step, terms - first));
    lane = (lane + 1) % lanes.size();
  }
  return arithmetic.flushed(sum + tree_sum(lanes, arithmetic));
}

}  // namespace

float add_products(float sum, std::span<const float> a, std::span<const float> b,
                   const Accumulation& how, const Fp32Arithmetic& arithmetic) {
  RECTO_CHECK_EQ(a.size(), b.size());
  if (how.rounding == AccumulatorRounding::kNearest) {
    return add_steps(sum, a.size(), how, arithmetic,
                     [&](float partial, std::size_t first, std::size_t count) {
                       for (std::size_t i = first; i < first + count; ++i) {
                         const float product = arithmetic.flushed(a[i] * b[i]);
                         partial = arithmetic.flushed(partial + product);
                       }
                       return partial;
                     });
  }
  std::vector<double> products(static_cast<std::size_t>(how.terms_per_step));
  return add_steps(sum, a.size(), how, arithmetic,
                   [&](float partial, std::size_t first, std::size_t count) {
                     for (std::size_t i = 0; i < count; ++i) {
                       products[i] = static_cast<double>(a[first + i]) * b[first + i];
                     }
                     return arithmetic.flushed(truncated_sum(partial, {products.data(), count}));
                   });
}

float add_terms(float sum, std::span<const float> terms, const Accumulation& how,
                const Fp32Arithmetic& arithmetic) {
  return add_steps(sum, terms.size(), how, arithmetic,
                   [&](float partial, std::size_t first, std::size_t count) {
                     for (std::size_t i = first; i < first + count; ++i) {
                       partial = arithmetic.flushed(partial + terms[i]);
                     }
                     return partial;
                   });
}

}  // namespace recto::reference
