#pragma once

// K, V and queries for given block tables, laid out in memory. Slots that its contexts address hold
// random numbers, drawn once per slot however many contexts share it. All other slots hold poison.

#include <cstdint>

#include "core/batch.h"
#include "core/element_type.h"
#include "verify/block_manager/trace_block_tables.h"
#include "verify/cases/placed_problem.h"

namespace recto::verify {

struct TableCallShape {
  KvLayout layout = KvLayout::kTokenMajor;
  ElementType q_type = ElementType::kBf16;
  ElementType kv_type = ElementType::kBf16;  // fp8: with a scale for each KV head
  std::int64_t num_q_heads = 2;
  std::int64_t num_kv_heads = 2;
  std::int64_t head_dim = 64;
};

// The inputs read the snapshot's table in place, so the snapshot must outlive the batch. The caller
// sets their options.
Batch place_tables(const TableSnapshot& snapshot, const TableCallShape& shape, Poison poison,
                   std::uint64_t seed);

}  // namespace recto::verify
