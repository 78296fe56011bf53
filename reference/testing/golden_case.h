#pragma once

// The golden cases: inputs in memory, and results to thirty digits from an independent
// implementation. golden/README.md describes the file format.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/attention_views.h"
#include "core/status.h"

namespace recto::reference {

// The memory that the views of a case point into.
struct GoldenMemory {
  std::vector<std::byte> q;
  std::vector<std::byte> new_k;
  std::vector<std::byte> new_v;
  std::vector<std::vector<std::byte>> buffers;
  std::vector<float> k_scales;
  std::vector<float> v_scales;
  std::vector<std::int32_t> block_table;
  std::vector<std::int32_t> query_start;
  std::vector<std::int32_t> lengths;  // context_length, or cached_length
  OwnedAttentionOptions options;
};

struct GoldenCase {
  std::string name;
  std::string why;
  std::unique_ptr<const GoldenMemory> memory;
  // Exactly one of these is set.
  std::optional<PagedAttentionInputs> attention;
  std::optional<DecodeStepInputs> decode;
  // long double has eleven bits more than the results under test.
  std::vector<long double> out;     // [num_rows, num_q_heads, v.head_dim]
  std::vector<long double> lse_ln;  // [num_rows, num_q_heads]

  const PagedKvView& kv() const { return attention ? attention->kv : decode->kv; }
};

// Returns invalid input, naming the file and the fault, if `text` is not a golden case.
Result<GoldenCase> parse_golden_case(std::string_view text, const std::string& file_name);

// Loads the cases of all JSON files in a folder, sorted by name; invalid input if there is none.
Result<std::vector<GoldenCase>> load_golden_cases(const std::string& folder);

}  // namespace recto::reference
