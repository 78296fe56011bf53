#include "verify/kernels/kernel_cover/cache_cover.h"

#include <array>
#include <iterator>
#include <numeric>
#include <span>

#include "core/attention_views.h"
#include "core/batch.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "verify/kernels/contents_call.h"
#include "verify/kernels/kernel_cache_ops.h"
#include "verify/kernels/kernel_cover/taint.h"

namespace recto::verify {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::int64_t kTokens = 12;
constexpr std::int64_t kSeqs = 3;
constexpr std::int64_t kBlocks = 4;
constexpr std::int64_t kPositions = 16;  // of rotary tables
constexpr KvLayout kLayouts[] = {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked};

// Numbers around 1 that use all bits of fp32 and bf16; fp16 reinterprets such bits.
Bytes random_rows(std::int64_t elements, ElementType type, RandomStream& stream) {
  const auto bytes = static_cast<std::size_t>(element_bytes(type));
  Bytes rows;
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto bits = static_cast<std::uint32_t>(stream.next_u64());
    const std::uint32_t number = (bits & 0x83ffffff) | 0x3c000000;
    const std::uint32_t code = bytes == 4 ? number : number >> 16;
    const auto* code_bytes = reinterpret_cast<const std::byte*>(&code);
    rows.insert(rows.end(), code_bytes, code_bytes + bytes);
  }
  return rows;
}

template <typename Pointer>
BasicRowsView<Pointer> rows_view(Pointer data, ElementType type, std::int64_t num_rows,
                                 const KvTensorView& tensor) {
  return dense_rows(data, type, num_rows, tensor.num_kv_heads, tensor.head_dim);
}

// The bytes of one row, or of one block in a pool. No result may depend on them until they are
// written, or the scope ends.
class TaintedPart {
 public:
  TaintedPart(const Bytes& bytes, std::size_t number, std::size_t parts)
      : part_(std::span(bytes).subspan(number * (bytes.size() / parts), bytes.size() / parts)) {
    taint(part_);
  }
  ~TaintedPart() { clear_taint(part_); }
  TaintedPart(const TaintedPart&) = delete;
  TaintedPart& operator=(const TaintedPart&) = delete;

 private:
  std::span<const std::byte> part_;
};

// The contents that a kernel left in K and V.
CacheState state_of(const std::string& kernel, const KvPools& pools, ElementType type) {
  const auto& [k, v] = pools;
  CacheState state = {.kernel = kernel, .taint = taint_text("k", k, element_bytes(type))};
  if (state.taint.empty()) state.taint = taint_text("v", v, element_bytes(type));
  clear_taint(k);
  clear_taint(v);
  state.bytes = k;
  state.bytes.insert(state.bytes.end(), v.begin(), v.end());
  return state;
}

// A cache of zeros.
struct Cache {
  explicit Cache(const KvPoolShape& shape) {
    PagedKvView layout = as_const(dense_kv_view(shape, nullptr, nullptr).value());
    if (is_fp8(shape.type)) {
      layout.k.scale = layout.v.scale = {.kind = ScaleKind::kPerTensor, .data = &scale};
    }
    pools = filled_pools(layout, {});
    view = pools.over(layout);
  }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  CacheState after(const std::string& kernel) const { return state_of(kernel, pools, view.k.type); }

  float scale = 0.37F;
  KvPools pools;
  MutablePagedKvView view;
};

struct Types {
  ElementType rows;
  ElementType cache;
};

Types types_of(std::uint64_t number) {
  using enum ElementType;
  static constexpr Types kTypes[] = {{kFp32, kFp32}, {kFp16, kFp16}, {kBf16, kBf16}, {kFp32, kFp16},
                                     {kFp32, kBf16}, {kFp32, kE4m3}, {kFp16, kE4m3}, {kBf16, kE4m3},
                                     {kFp32, kE5m2}, {kFp16, kE5m2}, {kBf16, kE5m2}};
  return kTypes[number % std::size(kTypes)];
}

KvPoolShape draw_shape(std::uint64_t number, ElementType type, RandomStream& stream) {
  return {.layout = kLayouts[number % 3],
          .type = type,
          .num_blocks = kBlocks,
          .block_size = std::int64_t{4} << stream.next_below(3),
          // Five exceeds the warps of a thread block.
          .num_kv_heads = number % 4 == 3 ? 5 : 1 + static_cast<std::int64_t>(stream.next_below(3)),
          .head_dim_k = 16 * (1 + static_cast<std::int64_t>(stream.next_below(6))),
          .head_dim_v = 1 + static_cast<std::int64_t>(stream.next_below(90))};
}

// What is appended: new tokens of this type, with this rotary embedding.
struct Appended {
  ElementType type;
  kernels::RotaryPairing pairing;
};

void append(const KernelRun& how, const Cache& cache, const Appended& what,
            const std::int32_t* table, RandomStream& stream) {
  const ElementType type = what.type;
  const KvTensorView k = as_const(cache.view).k;
  const KvTensorView v = as_const(cache.view).v;
  const Bytes new_k = random_rows(kSeqs * k.num_kv_heads * k.head_dim, type, stream);
  const Bytes new_v = random_rows(kSeqs * v.num_kv_heads * v.head_dim, type, stream);
  const std::vector<std::int32_t> cached_length = {3, -1, 0};
  const TaintedPart no_token_k(new_k, 1, kSeqs);
  const TaintedPart no_token_v(new_v, 1, kSeqs);
  const Bytes tables = random_rows(kPositions * k.head_dim, type, stream);
  const TaintedPart no_position(tables, 1, kPositions);
  // One row per position: its cosines and sines.
  const RowsView cosines = {.data = tables.data(),
                            .type = type,
                            .num_rows = kPositions,
                            .num_heads = 1,
                            .head_dim = k.head_dim / 2,
                            .row_stride = k.head_dim};
  RowsView sines = cosines;
  sines.data = tables.data() + k.head_dim / 2 * element_bytes(type);
  append_kv_by_kernel(
      how,
      {.k = rows_view<const void*>(new_k.data(), type, kSeqs, k),
       .v = rows_view<const void*>(new_v.data(), type, kSeqs, v),
       .block_table = {table, kSeqs, 1, 1},
       .cached_length = cached_length.data(),
       .kv = cache.view,
       .rotary = {.dim = k.head_dim, .pairing = what.pairing, .cosines = cosines, .sines = sines}});
}

CacheState gather(const KernelRun& how, const Cache& cache, const std::int32_t* table) {
  const PagedKvView kv = as_const(cache.view);
  const std::vector<std::int32_t> lengths = {4, 3, 1};
  const PagedAttentionInputs contexts = {
      .kv = kv, .block_table = {table, kSeqs, 1, 1}, .context_length = lengths};
  const TaintScope tainted(contexts);
  const std::vector<std::int64_t> starts = {0, 4, 7};
  const std::int64_t bytes = 8 * kv.k.num_kv_heads * element_bytes(kv.k.type);
  KvPools rows = {.k = Bytes(static_cast<std::size_t>(bytes * kv.k.head_dim)),
                  .v = Bytes(static_cast<std::size_t>(bytes * kv.v.head_dim))};
  gather_kv_by_kernel(how, {.kv = kv,
                            .block_table = contexts.block_table,
                            .context_length = lengths,
                            .context_start = starts,
                            .k = rows_view<void*>(rows.k.data(), kv.k.type, 8, kv.k),
                            .v = rows_view<void*>(rows.v.data(), kv.v.type, 8, kv.v)});
  return state_of("gather", rows, kv.k.type);
}

CacheState write(const KernelRun& how, const Cache& cache, ElementType type, RandomStream& stream) {
  const KvTensorView k = as_const(cache.view).k;
  const KvTensorView v = as_const(cache.view).v;
  const Bytes new_k = random_rows(kTokens * k.num_kv_heads * k.head_dim, type, stream);
  const Bytes new_v = random_rows(kTokens * v.num_kv_heads * v.head_dim, type, stream);
  // The last token has no slot.
  std::vector<std::int64_t> slots;
  for (std::int64_t token = 0; token < kTokens; ++token) slots.push_back(kTokens - 2 - token);
  const TaintedPart no_slot_k(new_k, kTokens - 1, kTokens);
  const TaintedPart no_slot_v(new_v, kTokens - 1, kTokens);
  write_kv_by_kernel(how, {.k = rows_view<const void*>(new_k.data(), type, kTokens, k),
                           .v = rows_view<const void*>(new_v.data(), type, kTokens, v),
                           .slot_mapping = slots,
                           .kv = cache.view});
  return cache.after("kv-write");
}

CacheState copy(const KernelRun& how, const Cache& cache) {
  const TaintedPart overwritten_k(cache.pools.k, 1, kBlocks);
  const TaintedPart overwritten_v(cache.pools.v, 1, kBlocks);
  copy_blocks_by_kernel(how, cache.view, std::vector<BlockPair>{{0, 1}});
  return cache.after("block-copy");
}

CacheState swap(const KernelRun& how, const Cache& from, const Cache& to) {
  const TaintedPart kept_k(from.pools.k, 3, kBlocks);
  const TaintedPart kept_v(from.pools.v, 3, kBlocks);
  swap_blocks_by_kernel(how, as_const(from.view), to.view, std::vector<BlockPair>{{2, 0}, {1, 3}});
  return to.after("swap");
}

CacheState state_of(const std::string& kernel, const kernels::ContentsViolation& found) {
  const std::array<std::int64_t, 5> fields = fields_of(found);
  const auto bytes = std::as_bytes(std::span(fields));
  return {.kernel = kernel,
          .bytes = Bytes(bytes.begin(), bytes.end()),
          .taint = taint_text("violation", bytes, sizeof fields[0])};
}

// More slots than a thread block has threads; valid, or invalid in one of two ways. The slot after
// the last one must not be checked.
CacheState slot_check(const KernelRun& how, std::uint64_t number) {
  std::vector<std::int64_t> slots(301);
  std::iota(slots.begin(), slots.end(), 0);
  slots[5] = -1;
  if (number % 3 == 1) slots[299] = 17;
  if (number % 3 == 2) slots[256] = 300;
  const auto behind = std::as_bytes(std::span(slots).subspan(300));
  taint(behind);
  simt::Executor executor(how.executor);
  const CacheState state =
      state_of("slot-check", call_slot_check(executor, how.observer,
                                             {.slot_mapping = slots.data(),
                                              .num_tokens = 300,
                                              .num_slots = 300,
                                              .repeated = kernels::RepeatedSlots::kNone}));
  clear_taint(behind);
  return state;
}

CacheState pair_check(const KernelRun& how, std::uint64_t number) {
  std::vector<BlockPair> pairs;
  for (std::int32_t i = 0; i < 301; ++i) pairs.push_back({i, 301 + i});
  if (number % 3 == 1) pairs[299].destination = 17;
  if (number % 3 == 2) pairs[256].source = 602;
  const auto behind = std::as_bytes(std::span(pairs).subspan(300));
  taint(behind);
  simt::Executor executor(how.executor);
  const CacheState state =
      state_of("pair-check", call_pair_check(executor, how.observer,
                                             {.pairs = pairs.data(),
                                              .num_pairs = 300,
                                              .num_sources = 602,
                                              .num_destinations = 602,
                                              .caches = kernels::Caches::kOne}));
  clear_taint(behind);
  return state;
}

}  // namespace

std::vector<CacheState> run_cache_case(const KernelRun& how, std::uint64_t number) {
  RandomStream stream = RandomStream(2026).split("cache cover").split(number);
  const Types types = types_of(number);
  KvPoolShape shape = draw_shape(number, types.cache, stream);
  const Cache cache(shape);
  const std::vector<std::int32_t> table = {2, 0, 3};
  std::vector<CacheState> states;
  states.push_back(write(how, cache, types.rows, stream));
  using enum kernels::RotaryPairing;
  append(how, cache, {types.rows, number % 2 == 0 ? kHalves : kInterleaved}, table.data(), stream);
  states.push_back(cache.after("kv-append"));
  states.push_back(copy(how, cache));
  shape.layout = kLayouts[(number / 3) % 3];
  const Cache other(shape);
  states.push_back(swap(how, cache, other));
  states.push_back(gather(how, cache, table.data()));
  states.push_back(slot_check(how, number));
  states.push_back(pair_check(how, number));
  return states;
}

}  // namespace recto::verify
