#include "verify/library/kernel_request.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <string>

#include "core/contract.h"
#include "verify/library/kernel_result.h"
#include "verify/library/request_builder.h"

namespace recto::verify {
namespace {

static_assert(sizeof(RectoAttentionCall) <= sizeof(KernelMailbox::call));
static_assert(sizeof(RectoKvWriteCall) <= sizeof(KernelMailbox::call));
static_assert(static_cast<int>(ElementType::kE5m2) == kRectoE5m2);
static_assert(static_cast<int>(KvLayout::kPacked) == kRectoPacked);
static_assert(static_cast<int>(ScaleKind::kPerKvHead) == kRectoScalePerKvHead);

std::uint64_t hash(const void* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }

// Addresses follow from sizes, so the struct itself can be part of the key.
RequestKey key_of(const KernelRequest& request, const RequestBuilder& builder) {
  RequestKey key;
  const auto add = [&key](const void* data, std::size_t bytes) {
    const XXH128_hash_t digest = XXH3_128bits_withSeed(data, bytes, key.low ^ (key.high >> 1));
    key = {digest.low64, digest.high64};
  };
  add(&request.function, sizeof(request.function));
  add(request.call.data(), request.call.size());
  for (const std::span<const std::byte> part : builder.contents()) add(part.data(), part.size());
  return key;
}

template <typename Call>
Result<KernelRequest> finished(const RequestBuilder& builder, const Call& call,
                               KernelRequest request) {
  RECTO_RETURN_IF_ERROR(builder.status());
  request.call.resize(sizeof(Call));
  std::memcpy(request.call.data(), &call, sizeof(Call));
  request.key = key_of(request, builder);
  for (std::size_t i = 0; i < std::size(request.written); ++i)
    request.before[i] = contents_of(request.written[i]);
  request.is_distant = builder.has_far_blocks();
  return request;
}

std::int64_t longest_context(const PagedAttentionInputs& inputs) {
  std::int64_t longest = 0;
  for (const std::int32_t length : inputs.context_length)
    longest = std::max<std::int64_t>(longest, length);
  return longest;
}

// query_start; one row per sequence if the caller omits it.
std::vector<std::int32_t> query_starts(const PagedAttentionInputs& inputs) {
  std::vector<std::int32_t> starts(inputs.query_start.begin(), inputs.query_start.end());
  if (!starts.empty()) return starts;
  for (std::size_t s = 0; s <= inputs.context_length.size(); ++s)
    starts.push_back(static_cast<std::int32_t>(s));
  return starts;
}

std::int64_t most_rows(const std::vector<std::int32_t>& starts) {
  std::int64_t most = 0;
  for (std::size_t s = 0; s + 1 < starts.size(); ++s)
    most = std::max<std::int64_t>(most, starts[s + 1] - starts[s]);
  return most;
}

std::set<std::int64_t> addressed_blocks(const PagedAttentionInputs& inputs) {
  std::set<std::int64_t> blocks;
  for (std::size_t s = 0; s < inputs.context_length.size(); ++s) {
    const std::int32_t* const row =
        inputs.block_table.data + static_cast<std::int64_t>(s) * inputs.block_table.row_stride;
    for (std::int64_t i = 0; i * inputs.kv.k.block_size < inputs.context_length[s]; ++i)
      blocks.insert(row[i]);
  }
  return blocks;
}

void set_options(const AttentionOptions& options, RequestBuilder& builder,
                 RectoAttentionCall& call) {
  call.scale = options.scale;
  call.softcap = options.softcap;
  call.causal = options.causal ? 1 : 0;
  call.window = options.window.value_or(0);
  if (!options.alibi_slopes.empty())
    call.alibi_slopes = builder.array("alibi_slopes", options.alibi_slopes);
  if (!options.sinks.empty()) call.sinks = builder.array("sinks", options.sinks);
}

// Strides of 0, and of interleaved heads, make sense only for reading.
RowGaps gaps_as_of(const RowsView& q) {
  return {.rows = std::max<std::int64_t>(0, q.row_stride - q.num_heads * q.head_stride)};
}

void set_outputs(const PagedAttentionInputs& inputs, const ResultMemory& results,
                 RequestBuilder& builder, RectoAttentionCall& call, KernelRequest& request) {
  const RowsView& q = inputs.q;
  const RowGaps gaps = results.gaps.value_or(gaps_as_of(q));
  const std::int64_t head_dim = inputs.kv.v.head_dim;
  const std::int64_t head_stride = head_dim + gaps.heads;
  const MutableRowsView out = {.type = q.type,
                               .num_rows = q.num_rows,
                               .num_heads = q.num_heads,
                               .head_dim = head_dim,
                               .row_stride = q.num_heads * head_stride + gaps.rows,
                               .head_stride = head_stride};
  GuardedBuffer& held = request.written[0].buffer;
  held = builder.written("out", span_bytes(out), nullptr);
  request.written[1].buffer =
      builder.written("lse_ln", q.num_rows * q.num_heads * std::int64_t{sizeof(float)}, nullptr);
  call.out = {.data = held.theirs,
              .type = static_cast<std::int32_t>(out.type),
              .reserved = 0,
              .num_rows = out.num_rows,
              .num_heads = out.num_heads,
              .head_dim = out.head_dim,
              .row_stride = out.row_stride,
              .head_stride = out.head_stride};
  call.lse_ln = reinterpret_cast<float*>(request.written[1].buffer.theirs);
}

}  // namespace

Result<KernelRequest> request_attention(KernelFunction function, const PagedAttentionInputs& inputs,
                                        const ResultMemory& results, GuardedArena& arena) {
  const BlockTableView& table = inputs.block_table;
  RequestBuilder builder(arena,
                         hash(inputs.context_length.data(), inputs.context_length.size_bytes()) ^
                             static_cast<std::uint64_t>(inputs.q.num_rows));
  KernelRequest request;
  request.function = function;
  RectoAttentionCall call = {};
  call.context = builder.context(sizeof(call), request.message);
  call.q = builder.rows("q", inputs.q);
  const std::set<std::int64_t> blocks = addressed_blocks(inputs);
  call.k = builder.read_cache("k", "k.scale", inputs.kv.k, blocks);
  call.v = builder.read_cache("v", "v.scale", inputs.kv.v, blocks);
  const std::int64_t entries =
      table.num_seqs == 0 ? 0 : (table.num_seqs - 1) * table.row_stride + table.max_blocks;
  call.block_table =
      builder.array("block_table", std::span(table.data, static_cast<std::size_t>(entries)));
  call.num_seqs = table.num_seqs;
  call.max_blocks = table.max_blocks;
  call.block_table_row_stride = table.row_stride;
  call.context_length = builder.array("context_length", inputs.context_length);
  const std::vector<std::int32_t> starts = query_starts(inputs);
  if (function == KernelFunction::kPrefill)
    call.query_start = builder.array("query_start", std::span<const std::int32_t>(starts));
  call.max_context_length = longest_context(inputs);
  call.max_query_length = most_rows(starts);
  set_options(inputs.options, builder, call);
  set_outputs(inputs, results, builder, call, request);
  if (builder.status().is_ok()) {
    for (const auto& [buffer, far] : request.written)
      fill_with({buffer.ours, static_cast<std::size_t>(buffer.bytes)}, results.stale);
  }
  return finished(builder, call, std::move(request));
}

Result<KernelRequest> request_kv_write(const KvWriteInputs& inputs, GuardedArena& arena) {
  RequestBuilder builder(arena, hash(inputs.slot_mapping.data(), inputs.slot_mapping.size_bytes()));
  KernelRequest request;
  request.function = KernelFunction::kKvWrite;
  RectoKvWriteCall call = {};
  call.context = builder.context(sizeof(call), request.message);
  call.k = builder.rows("k", inputs.k);
  call.v = builder.rows("v", inputs.v);
  call.slot_mapping = builder.array("slot_mapping", inputs.slot_mapping);
  call.num_tokens = std::ssize(inputs.slot_mapping);
  request.written[0] = builder.written_cache("k_cache", inputs.kv.k);
  request.written[1] = builder.written_cache("v_cache", inputs.kv.v);
  call.k_cache =
      builder.cache<RectoMutableKvTensor>(inputs.kv.k, request.written[0].buffer, "k_cache.scale");
  call.v_cache =
      builder.cache<RectoMutableKvTensor>(inputs.kv.v, request.written[1].buffer, "v_cache.scale");
  return finished(builder, call, std::move(request));
}

}  // namespace recto::verify
