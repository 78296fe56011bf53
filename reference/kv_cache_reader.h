#pragma once

// Reads values from a paged cache in fp64: computes the slot's address and decodes its codes.

#include <cstdint>

#include "core/attention_views.h"
#include "reference/dense_attention.h"

namespace recto::reference {

// The offset of an element from the view's data, in elements.
std::int64_t element_offset(const KvTensorView& view, std::int64_t block, std::int64_t head,
                            std::int64_t slot, std::int64_t dim);

// The factor that a KV head's codes are multiplied by; 1 if the view has no scale.
double scale_of(const KvTensorView& view, std::int64_t head);

// Reads one slot of one head, head_dim values, into `row`. The product of code and scale is exact.
void read_slot(const KvTensorView& view, std::int64_t block, std::int64_t head, std::int64_t slot,
               Eigen::Ref<Eigen::RowVectorXd> row);

// A sequence's context of one KV head in logical order: [context_length, head_dim].
Matrix gather_head(const KvTensorView& view, const std::int32_t* block_table_row,
                   std::int64_t context_length, std::int64_t head);

// Rows [first, first + count) of one head: [count, head_dim].
Matrix read_rows(const RowsView& view, std::int64_t head, std::int64_t first, std::int64_t count);

}  // namespace recto::reference
