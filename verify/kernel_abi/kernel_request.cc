#include "verify/kernel_abi/kernel_request.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "core/contract.h"

namespace recto::verify {
namespace {

static_assert(sizeof(RectoAttentionCall) <= sizeof(KernelMailbox::call));
static_assert(sizeof(RectoKvWriteCall) <= sizeof(KernelMailbox::call));
static_assert(static_cast<int>(ElementType::kE5m2) == kRectoE5m2);
static_assert(static_cast<int>(KvLayout::kPacked) == kRectoPacked);
static_assert(static_cast<int>(ScaleKind::kPerKvHead) == kRectoScalePerKvHead);

constexpr std::int64_t kVectorBytes = 16;
constexpr std::int64_t kMessageBytes = 512;

// From the first byte to the last that the view names.
template <typename Pointer>
std::int64_t span_bytes(const BasicRowsView<Pointer>& rows) {
  if (rows.num_rows == 0) return 0;
  return element_bytes(rows.type) * ((rows.num_rows - 1) * rows.row_stride +
                                     (rows.num_heads - 1) * rows.head_stride + rows.head_dim);
}

template <typename Pointer>
std::int64_t span_bytes(const BasicKvTensorView<Pointer>& cache) {
  if (cache.num_blocks == 0) return 0;
  const bool is_packed = cache.layout == KvLayout::kPacked;
  const std::int64_t dims =
      is_packed ? (cache.head_dim / cache.pack_width - 1) * cache.pack_stride + cache.pack_width
                : cache.head_dim;
  return element_bytes(cache.type) * ((cache.num_blocks - 1) * cache.block_stride +
                                      (cache.num_kv_heads - 1) * cache.head_stride +
                                      (cache.block_size - 1) * cache.slot_stride + dims);
}

// Puts buffers into the arena, one after the other, until one has no room.
class RequestBuilder {
 public:
  // Bit i of `ends` says which end of buffer i is guarded.
  RequestBuilder(GuardedArena& arena, std::uint64_t ends) : arena_(arena), ends_(ends) {
    arena_.clear();
  }

  const Status& status() const { return status_; }

  // What the library may read, or write, from `data` on.
  GuardedBuffer buffer(const BufferRequest& request, const void* data) {
    BufferRequest guarded = request;
    guarded.end = (ends_ & 1) == 0 ? GuardedEnd::kBack : GuardedEnd::kFront;
    ends_ >>= 1;
    if (!status_.is_ok()) return {};
    const Result<GuardedBuffer> added = arena_.add(guarded);
    status_ = added.status();
    if (!added.is_ok()) return {};
    if (data != nullptr) {
      std::memcpy(added.value().ours, data, static_cast<std::size_t>(request.bytes));
    }
    return added.value();
  }

  // Null for nothing, but for arrays that are there with no element.
  template <typename T>
  const T* array(const char* name, std::span<const T> values) {
    if (values.data() == nullptr) return nullptr;
    return reinterpret_cast<const T*>(buffer({.name = name,
                                              .bytes = std::ssize(values) * std::int64_t{sizeof(T)},
                                              .alignment = sizeof(T)},
                                             values.data())
                                          .theirs);
  }

  RectoRows rows(const char* name, const RowsView& view) {
    const GuardedBuffer held =
        buffer({.name = name, .bytes = span_bytes(view), .alignment = kVectorBytes}, view.data);
    return {.data = held.theirs,
            .type = static_cast<std::int32_t>(view.type),
            .reserved = 0,
            .num_rows = view.num_rows,
            .num_heads = view.num_heads,
            .head_dim = view.head_dim,
            .row_stride = view.row_stride,
            .head_stride = view.head_stride};
  }

  // Of RectoKvTensor, or RectoMutableKvTensor over `held`.
  template <typename Tensor, typename Pointer>
  Tensor cache(const BasicKvTensorView<Pointer>& view, const GuardedBuffer& held,
               const char* scale_name) {
    const std::int64_t scales[] = {0, 1, view.num_kv_heads};
    const auto count = static_cast<std::size_t>(scales[static_cast<int>(view.scale.kind)]);
    Tensor tensor = {};
    tensor.data = held.theirs;
    tensor.type = static_cast<std::int32_t>(view.type);
    tensor.layout = static_cast<std::int32_t>(view.layout);
    tensor.num_blocks = view.num_blocks;
    tensor.block_size = view.block_size;
    tensor.num_kv_heads = view.num_kv_heads;
    tensor.head_dim = view.head_dim;
    tensor.block_stride = view.block_stride;
    tensor.head_stride = view.head_stride;
    tensor.slot_stride = view.slot_stride;
    tensor.pack_width = view.pack_width;
    tensor.pack_stride = view.pack_stride;
    tensor.scale = count == 0 ? nullptr : array(scale_name, std::span(view.scale.data, count));
    tensor.scale_kind = static_cast<std::int32_t>(view.scale.kind);
    return tensor;
  }

  RectoKvTensor read_cache(const char* name, const char* scale_name, const KvTensorView& view) {
    const GuardedBuffer held =
        buffer({.name = name, .bytes = span_bytes(view), .alignment = kVectorBytes}, view.data);
    return cache<RectoKvTensor>(view, held, scale_name);
  }

  // `data` is null where nothing was there before.
  GuardedBuffer written(const char* name, std::int64_t bytes, const void* data) {
    return buffer(
        {.name = name, .bytes = bytes, .alignment = kVectorBytes, .access = BufferAccess::kWrite},
        data);
  }

  RectoCallContext context(std::size_t struct_bytes, GuardedBuffer& message) {
    message = written("message", kMessageBytes, nullptr);
    if (message.ours != nullptr) std::memset(message.ours, 0, kMessageBytes);
    return {.struct_bytes = struct_bytes,
            .memory = kRectoHostMemory,
            .device = 0,
            .stream = nullptr,
            .message = reinterpret_cast<char*>(message.theirs),
            .message_bytes = kMessageBytes};
  }

 private:
  GuardedArena& arena_;
  std::uint64_t ends_;
  Status status_;
};

std::uint64_t hash(const void* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }

// Addresses follow from sizes, so that the struct is part of the key as it is.
RequestKey key_of(const KernelRequest& request, const GuardedArena& arena) {
  RequestKey key;
  const auto add = [&key](const void* data, std::size_t bytes) {
    const XXH128_hash_t digest = XXH3_128bits_withSeed(data, bytes, key.low ^ (key.high >> 1));
    key = {digest.low64, digest.high64};
  };
  add(&request.function, sizeof(request.function));
  add(request.call.data(), request.call.size());
  for (const GuardedBuffer& buffer : arena.buffers()) {
    add(buffer.ours, static_cast<std::size_t>(buffer.bytes));
  }
  return key;
}

template <typename Call>
Result<KernelRequest> finished(const RequestBuilder& builder, const Call& call,
                               const GuardedArena& arena, KernelRequest request) {
  RECTO_RETURN_IF_ERROR(builder.status());
  request.call.resize(sizeof(Call));
  std::memcpy(request.call.data(), &call, sizeof(Call));
  request.key = key_of(request, arena);
  for (std::size_t i = 0; i < std::size(request.written); ++i) {
    const GuardedBuffer& buffer = request.written[i];
    request.before[i].assign(buffer.ours, buffer.ours + buffer.bytes);
  }
  return request;
}

std::int64_t longest_context(const PagedAttentionInputs& inputs) {
  std::int64_t longest = 0;
  for (const std::int32_t length : inputs.context_length)
    longest = std::max<std::int64_t>(longest, length);
  return longest;
}

// query_start where the caller has left it out: one row each.
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

void set_outputs(const PagedAttentionInputs& inputs, RequestBuilder& builder,
                 RectoAttentionCall& call, KernelRequest& request) {
  const RowsView& q = inputs.q;
  const std::int64_t head_dim = inputs.kv.v.head_dim;
  // Strides of 0, and of interleaved heads, are for those who read.
  const std::int64_t gap = std::max<std::int64_t>(0, q.row_stride - q.num_heads * q.head_dim);
  const MutableRowsView out = {.type = q.type,
                               .num_rows = q.num_rows,
                               .num_heads = q.num_heads,
                               .head_dim = head_dim,
                               .row_stride = q.num_heads * head_dim + gap,
                               .head_stride = head_dim};
  request.written[0] = builder.written("out", span_bytes(out), nullptr);
  request.written[1] =
      builder.written("lse_ln", q.num_rows * q.num_heads * std::int64_t{sizeof(float)}, nullptr);
  call.out = {.data = request.written[0].theirs,
              .type = static_cast<std::int32_t>(out.type),
              .reserved = 0,
              .num_rows = out.num_rows,
              .num_heads = out.num_heads,
              .head_dim = out.head_dim,
              .row_stride = out.row_stride,
              .head_stride = out.head_stride};
  call.lse_ln = reinterpret_cast<float*>(request.written[1].theirs);
}

}  // namespace

Result<KernelRequest> request_attention(KernelFunction function, const PagedAttentionInputs& inputs,
                                        GuardedArena& arena) {
  const BlockTableView& table = inputs.block_table;
  RequestBuilder builder(arena,
                         hash(inputs.context_length.data(), inputs.context_length.size_bytes()) ^
                             static_cast<std::uint64_t>(inputs.q.num_rows));
  KernelRequest request;
  request.function = function;
  RectoAttentionCall call = {};
  call.context = builder.context(sizeof(call), request.message);
  call.q = builder.rows("q", inputs.q);
  call.k = builder.read_cache("k", "k.scale", inputs.kv.k);
  call.v = builder.read_cache("v", "v.scale", inputs.kv.v);
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
  set_outputs(inputs, builder, call, request);
  return finished(builder, call, arena, std::move(request));
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
  request.written[0] = builder.written("k_cache", span_bytes(inputs.kv.k), inputs.kv.k.data);
  request.written[1] = builder.written("v_cache", span_bytes(inputs.kv.v), inputs.kv.v.data);
  call.k_cache =
      builder.cache<RectoMutableKvTensor>(inputs.kv.k, request.written[0], "k_cache.scale");
  call.v_cache =
      builder.cache<RectoMutableKvTensor>(inputs.kv.v, request.written[1], "v_cache.scale");
  return finished(builder, call, arena, std::move(request));
}

}  // namespace recto::verify
