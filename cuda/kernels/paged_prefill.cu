#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/paged_prefill_entries.cuh"
#include "cuda/kernels/paged_prefill_hopper.h"
#include "cuda/kernels/stream_gate.h"

namespace recto::kernels {
namespace {

const KernelTable<PagedPrefillParams>& table() {
  static const KernelTable<PagedPrefillParams> kTable = paged_prefill_table();
  return kTable;
}

const KernelTable<PagedPrefillParams>& wide_table() {
  static const KernelTable<PagedPrefillParams> kTable = wide_prefill_table();
  return kTable;
}

// Whether the rows of q or out can be accessed 16 bytes at a time. (The bitwise OR of two strides
// is a multiple of a power of two if both are.)
template <typename View>
bool lies_in_chunks(const View& rows) {
  const std::int64_t chunk = kChunkBytes / element_bytes(rows.type);
  return reinterpret_cast<std::uintptr_t>(rows.data) % kChunkBytes == 0 &&
         (rows.row_stride | rows.head_stride) % chunk == 0;
}

// Whether any sixteen slots from a multiple of sixteen on lie in one block, with offsets from its
// first slot within int, and an offset into K is also that into V.
bool has_runs(const PagedKvView& kv) {
  return !is_packed(kv.k) && !is_packed(kv.v) && kv.k.block_size % kRunKeys == 0 &&
         kv.k.slot_stride <= INT32_MAX / (2 * kRunKeys) && kv.k.slot_stride >= 0 &&
         kv.k.block_stride == kv.v.block_stride && kv.k.head_stride == kv.v.head_stride &&
         kv.k.slot_stride == kv.v.slot_stride;
}

// Whether scores are products times a factor above 0, as plain_factor_of() requires.
bool is_plain(const AttentionOptions& options) {
  const float factor = options.scale * kLog2E;
  return options.softcap == 0.0F && options.alibi_slopes.empty() && factor > 0.0F &&
         factor < INFINITY;
}

// Whether the call has the usual cache and options, for which there are faster kernels.
bool is_usual(const PagedPrefillParams& params) {
  return lies_in_chunks(params.q) && lies_in_chunks(params.out) && has_runs(params.kv) &&
         is_plain(params.options);
}

// The row of the wide kernel that serves the call, or null. The results are the same without it.
const KernelEntry<PagedPrefillParams>* find_wide(const PagedPrefillParams& params) {
  return is_usual(params) ? find_entry(wide_table(), params.q, params.kv.k) : nullptr;
}

}  // namespace

KernelTable<PagedPrefillParams> paged_prefill_table() {
  return joined({prefill_entries_fp32(), prefill_entries_fp16(), prefill_entries_bf16()});
}

KernelTable<PagedPrefillParams> wide_prefill_table() {
  return joined({wide_prefill_entries_fp16(), wide_prefill_entries_bf16()});
}

std::int64_t prefill_blocks_per_sequence(const PagedPrefillParams& params) {
  const int rows = find_wide(params) == nullptr ? kPrefillRows : kWideRows;
  return prefill_tiles(params, rows) * params.kv.k.num_kv_heads;
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
  if constexpr (kHasWarpgroupProducts) {
    if (is_usual(params) && serves_on_hopper(params)) {
      return launch_paged_prefill_hopper(launched, stream);
    }
  }
  const KernelEntry<PagedPrefillParams>* wide = find_wide(params);
  if (wide != nullptr) return wide->launch(launched, stream);
  return find_entry(table(), params.q, params.kv.k)->launch(launched, stream);
}

}  // namespace recto::kernels
