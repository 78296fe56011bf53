#pragma once

// Random shapes of pools, for properties.

#include <cstdint>
#include <ostream>
#include <vector>

#include "bazel/testing/property.h"
#include "reference/testing/kv_pool.h"

namespace recto::reference {

// As counterexamples have them.
std::ostream& operator<<(std::ostream& out, const TestPoolShape& shape);
std::ostream& operator<<(std::ostream& out, const RowPoolShape& shape);

// Small, in any layout; a pack of any width.
TestPoolShape draw_shape(Draw& draw, ElementType type);

// V's: its own layout, gaps and head dim.
TestPoolShape draw_partner(Draw& draw, const TestPoolShape& shape);

// The same tensor elsewhere: other layout, gaps and number of blocks.
TestPoolShape draw_copy(Draw& draw, const TestPoolShape& shape);

// Rows that go into such a tensor, or come out of it.
RowPoolShape draw_rows_like(Draw& draw, const TestPoolShape& shape, std::int64_t num_rows,
                            ElementType type);

// Distinct numbers in [0, below), in random order.
std::vector<std::int64_t> draw_distinct(Draw& draw, std::int64_t count, std::int64_t below);

}  // namespace recto::reference
