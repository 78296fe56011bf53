#pragma once

// Random pool shapes for property tests.

#include <cstdint>
#include <ostream>
#include <vector>

#include "bazel/testing/property.h"
#include "reference/testing/kv_pool.h"

namespace recto::reference {

// Prints a shape as counterexamples show it.
std::ostream& operator<<(std::ostream& out, const TestPoolShape& shape);
std::ostream& operator<<(std::ostream& out, const RowPoolShape& shape);

// A small shape in any layout, with any pack width.
TestPoolShape draw_shape(Draw& draw, ElementType type);

// The shape of V: its own layout, gaps and head dim.
TestPoolShape draw_partner(Draw& draw, const TestPoolShape& shape);

// A shape for the same tensor in another layout, with other gaps and another number of blocks.
TestPoolShape draw_copy(Draw& draw, const TestPoolShape& shape);

// Rows that are written into such a tensor, or gathered from it.
RowPoolShape draw_rows_like(Draw& draw, const TestPoolShape& shape, std::int64_t num_rows,
                            ElementType type);

// Distinct numbers in [0, below), in random order.
std::vector<std::int64_t> draw_distinct(Draw& draw, std::int64_t count, std::int64_t below);

}  // namespace recto::reference
