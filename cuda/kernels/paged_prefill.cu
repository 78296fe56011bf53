#include <kernel_dialect.h>

#include <algorithm>
#include <cstdint>

#include "cuda/kernels/paged_prefill_entries.cuh"
#include "cuda/kernels/stream_gate.h"

namespace recto::kernels {
namespace {

const PrefillEntry* entry_for(const PagedPrefillParams& params) {
  static const std::vector<PrefillEntry> table = paged_prefill_table();
  for (const PrefillEntry& entry : table) {
    if (entry.q_type == params.q.type && entry.kv_type == params.kv.k.type &&
        entry.head_dim == params.kv.k.head_dim) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<PrefillEntry> paged_prefill_table() {
  std::vector<PrefillEntry> table;
  for (const auto& entries :
       {prefill_entries_fp32(), prefill_entries_fp16(), prefill_entries_bf16()}) {
    table.insert(table.end(), entries.begin(), entries.end());
  }
  return table;
}

std::int64_t prefill_blocks_per_sequence(const PagedPrefillParams& params) {
  return prefill_tiles(params) * params.kv.k.num_kv_heads;
}

const char* why_not_prefilled(const PagedPrefillParams& params) {
  if (params.out.type != params.q.type) return "out.type: expected that of q";
  if (const char* error = why_not_streamed(params.kv)) return error;
  if (entry_for(params) == nullptr) {
    return "q.type, kv.k.type, kv.k.head_dim: expected a row of paged_prefill_table()";
  }
  return nullptr;
}

KernelStatus launch_paged_prefill(const PagedPrefillParams& params, KernelStream stream) {
  if (params.max_query_length < 0) return {"max_query_length: expected at least 0"};
  if (const char* error = why_not_prefilled(params)) return {error};
  if (params.max_query_length == 0 || params.block_table.num_seqs == 0) return {};
  // Rows may stand at negative positions, from which the largest number cannot be taken. This one
  // sees as much.
  constexpr std::int64_t kWidest = std::int64_t{1} << 40;
  PagedPrefillParams launched = params;
  launched.options.window = std::min(params.options.window, kWidest);
  return entry_for(params)->launch(launched, stream);
}

}  // namespace recto::kernels
