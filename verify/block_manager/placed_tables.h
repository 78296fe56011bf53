#pragma once

// A batch with given block tables, laid out in memory. Slots that its contexts address hold random
// numbers, drawn once per slot however many contexts share it. All other slots hold NaN or
// infinity.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/attention_views.h"
#include "core/element_type.h"
#include "core/paged_kv_view.h"
#include "verify/block_manager/trace_block_tables.h"

namespace recto::verify {

struct TableCallShape {
  KvLayout layout = KvLayout::kTokenMajor;
  ElementType q_type = ElementType::kBf16;
  ElementType kv_type = ElementType::kBf16;  // fp8: with a scale for each KV head
  std::int64_t num_q_heads = 2;
  std::int64_t num_kv_heads = 2;
  std::int64_t head_dim = 64;
};

// The contents of slots that no context reaches; e4m3 has NaN only.
enum class UnaddressedSlots : std::uint8_t { kNaN, kInfinity };

// Owns the memory; inputs() points into it. Rows of the table are padded with -1.
class PlacedTables {
 public:
  PlacedTables(const TableSnapshot& snapshot, const TableCallShape& shape,
               UnaddressedSlots unaddressed, std::uint64_t seed);
  PlacedTables(const PlacedTables&) = delete;
  PlacedTables& operator=(const PlacedTables&) = delete;

  // The caller sets the options.
  PagedAttentionInputs& inputs() { return inputs_; }

 private:
  void place_tables(const TableSnapshot& snapshot);
  void place_pool(const TableSnapshot& snapshot, const TableCallShape& shape,
                  UnaddressedSlots unaddressed, std::uint64_t seed);

  std::vector<std::byte> q_;
  std::vector<std::byte> k_pool_;
  std::vector<std::byte> v_pool_;
  std::vector<float> scales_;                 // [num_kv_heads]
  std::vector<std::int32_t> block_table_;     // [sequences, longest table]
  std::vector<std::int32_t> query_start_;     // [sequences + 1]
  std::vector<std::int32_t> context_length_;  // [sequences]
  PagedAttentionInputs inputs_;
};

}  // namespace recto::verify
