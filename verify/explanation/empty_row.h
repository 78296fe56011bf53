#pragma once

// Rows without a key to attend to: their context is empty, or they stand before its first key. By
// definition out is zeros there, and lse_ln is -inf, or the head's sink.

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/error_bound.h"
#include "verify/explanation/diagnosis.h"
#include "verify/explanation/row_probe.h"

namespace recto::verify {

// Of all heads alike.
bool has_no_key(const PagedAttentionInputs& inputs, const RowPlace& place);

struct EmptyRow {
  std::int64_t context_length = 0;
  bool has_sink = false;
  std::vector<double> out = {};            // seen: [head_dim_v]
  std::optional<double> lse_ln_seen = {};  // nothing where it was not handed in
  double lse_ln_expected = 0.0;
  bool lse_ln_is_right = true;
  bool out_is_stale = false;  // as StaleResults tells
  bool lse_ln_is_stale = false;
  std::vector<std::int64_t> attended = {};  // keys that get weight all the same
};

// What was seen of a row at `row` of the batch. Neither stale nor attended are known of it.
EmptyRow empty_row(const PagedAttentionInputs& inputs, const RowPlace& place,
                   const reference::AttentionResult& seen, const reference::BoundedResult& oracle,
                   BoundKind bound_kind);

// Whether the probe's weights, of keys that should have none, give what was seen of the row.
bool weights_give(const RowProbe& probe, const PagedAttentionInputs& inputs, const RowPlace& place,
                  const std::vector<double>& out);

Diagnosis diagnose_empty_row(const EmptyRow& row);

}  // namespace recto::verify
