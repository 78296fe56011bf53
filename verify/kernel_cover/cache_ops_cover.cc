#include "verify/kernel_cover/cache_ops_cover.h"

#include <cstdint>
#include <span>

#include "core/dense_kv_view.h"
#include "core/units.h"
#include "verify/kernel_cache_ops.h"
#include "verify/kernel_cover/taint.h"

namespace recto::verify {
namespace {

using Bytes = std::vector<std::byte>;

// Rows [rows, num_kv_heads, head_dim] of a cache's type, one after the other.
struct Rows {
  Rows(const KvTensorView& of, std::int64_t rows)
      : row_bytes(static_cast<std::size_t>(of.num_kv_heads * of.head_dim * element_bytes(of.type))),
        bytes(static_cast<std::size_t>(rows) * row_bytes, std::byte{0xff}),
        view({.data = bytes.data(),
              .type = of.type,
              .num_rows = rows,
              .num_heads = of.num_kv_heads,
              .head_dim = of.head_dim,
              .row_stride = of.num_kv_heads * of.head_dim,
              .head_stride = of.head_dim}) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  RowsView const_view() const {
    return {.data = view.data,
            .type = view.type,
            .num_rows = view.num_rows,
            .num_heads = view.num_heads,
            .head_dim = view.head_dim,
            .row_stride = view.row_stride,
            .head_stride = view.head_stride};
  }
  std::span<const std::byte> row(std::size_t number) const {
    return std::span(bytes).subspan(number * row_bytes, row_bytes);
  }

  std::size_t row_bytes;
  Bytes bytes;
  MutableRowsView view;
};

// Dense, with room for `tokens` in half of its blocks.
struct Cache {
  Cache(const PagedKvView& like, std::int64_t tokens)
      : shape({.layout = like.k.layout,
               .type = like.k.type,
               .num_blocks = 2 * ceil_div(tokens, like.k.block_size),
               .block_size = like.k.block_size,
               .num_kv_heads = like.k.num_kv_heads,
               .head_dim_k = like.k.head_dim,
               .head_dim_v = like.v.head_dim}) {
    const KvPoolElements elements = count_pool_elements(shape).value();
    k.assign(static_cast<std::size_t>(elements.k * element_bytes(shape.type)), std::byte{0x11});
    v.assign(static_cast<std::size_t>(elements.v * element_bytes(shape.type)), std::byte{0x22});
    view = dense_kv_view(shape, k.data(), v.data()).value();
  }

  KvPoolShape shape;
  Bytes k;
  Bytes v;
  MutablePagedKvView view = {};
};

CacheOpResult result_of(const char* kernel, const Bytes& k, const Bytes& v) {
  CacheOpResult result = {.kernel = kernel, .is_tainted = is_tainted(k) || is_tainted(v)};
  clear_taint(k);
  clear_taint(v);
  result.k = k;
  result.v = v;
  return result;
}

CacheOpResult gather(const PagedAttentionInputs& inputs, Rows& k, Rows& v) {
  const TaintScope tainted(inputs);
  std::vector<std::int64_t> starts;
  std::int64_t next = 0;
  for (const std::int32_t length : inputs.context_length) {
    starts.push_back(next);
    next += length;
  }
  gather_kv_by_kernel({}, {.kv = inputs.kv,
                           .block_table = inputs.block_table,
                           .context_length = inputs.context_length,
                           .context_start = starts,
                           .k = k.view,
                           .v = v.view});
  return result_of("gather", k.bytes, v.bytes);
}

CacheOpResult write(const Rows& k, const Rows& v, Cache& cache) {
  const auto tokens = static_cast<std::size_t>(k.view.num_rows);
  const std::size_t slots =
      static_cast<std::size_t>(cache.shape.num_blocks / 2 * cache.shape.block_size);
  std::vector<std::int64_t> slot_mapping;
  for (std::size_t token = 0; token < tokens; ++token) {
    const bool is_written = token % 5 != 4;
    slot_mapping.push_back(is_written ? static_cast<std::int64_t>(token * 3 % slots) : -1);
    if (is_written) continue;
    taint(k.row(token));
    taint(v.row(token));
  }
  write_kv_by_kernel(
      {},
      {.k = k.const_view(), .v = v.const_view(), .slot_mapping = slot_mapping, .kv = cache.view});
  clear_taint(k.bytes);
  clear_taint(v.bytes);
  return result_of("kv-write", cache.k, cache.v);
}

CacheOpResult copy(Cache& cache) {
  const std::int64_t half = cache.shape.num_blocks / 2;
  std::vector<BlockPair> pairs;
  for (std::int64_t block = 0; block < half; ++block) {
    pairs.push_back(
        {static_cast<std::int32_t>(half - 1 - block), static_cast<std::int32_t>(half + block)});
  }
  taint(std::span<const std::byte>(cache.k).last(cache.k.size() / 2));
  taint(std::span<const std::byte>(cache.v).last(cache.v.size() / 2));
  copy_blocks_by_kernel({}, cache.view, pairs);
  return result_of("block-copy", cache.k, cache.v);
}

}  // namespace

std::vector<CacheOpResult> run_cache_ops(const PagedAttentionInputs& inputs) {
  std::int64_t tokens = 0;
  for (const std::int32_t length : inputs.context_length) tokens += length;
  if (tokens == 0) return {};
  Rows k(inputs.kv.k, tokens);
  Rows v(inputs.kv.v, tokens);
  Cache cache(inputs.kv, tokens);
  std::vector<CacheOpResult> results;
  results.push_back(gather(inputs, k, v));
  results.push_back(write(k, v, cache));
  results.push_back(copy(cache));
  return results;
}

}  // namespace recto::verify
