#include <kernel_dialect.h>

#include <algorithm>
#include <cstdint>

#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/paged_prefill_entries.cuh"
#include "cuda/kernels/stream_gate.h"

namespace recto::kernels {
namespace {

const KernelTable<PagedPrefillParams>& table() {
  static const KernelTable<PagedPrefillParams> kTable = paged_prefill_table();
  return kTable;
}

}  // namespace

KernelTable<PagedPrefillParams> paged_prefill_table() {
  return joined({prefill_entries_fp32(), prefill_entries_fp16(), prefill_entries_bf16()});
}

std::int64_t prefill_blocks_per_sequence(const PagedPrefillParams& params) {
  return prefill_tiles(params) * params.kv.k.num_kv_heads;
}

Status check_prefill(const PagedPrefillParams& params) {
  RECTO_RETURN_IF_ERROR(check_streamed({params.q, params.kv, params.out}));
  return check_in_table("paged_prefill_table()", table(), params.q, params.kv.k);
}

Status launch_paged_prefill(const PagedPrefillParams& params, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(expect_at_least({"", "max_query_length", params.max_query_length}, 0));
  RECTO_RETURN_IF_ERROR(check_prefill(params));
  if (params.max_query_length == 0 || params.block_table.num_seqs == 0) return Status::ok();
  // Rows may have negative positions, from which subtracting the largest integer would overflow.
  // This window is wide enough to hide no key.
  constexpr std::int64_t kWidest = std::int64_t{1} << 40;
  PagedPrefillParams launched = params;
  launched.options.window = std::min(params.options.window.value_or(kWidest), kWidest);
  return find_entry(table(), params.q, params.kv.k)->launch(launched, stream);
}

}  // namespace recto::kernels
