#include "verify/kernels/kernel_cover/taint.h"

#include <fmt/format.h>

#if defined(RECTO_SIMT_TAINT)
#include <sanitizer/msan_interface.h>

#include "core/units.h"

// Only memory tainted on purpose counts: MemorySanitizer does not see the writes of the C++
// library.
extern "C" const char* __msan_default_options() {
  return "poison_in_malloc=0:poison_in_free=0:poison_in_dtor=0";
}

namespace recto::verify {
namespace {

const std::byte* element(const KvTensorView& view, std::int64_t block, std::int64_t head,
                         std::int64_t slot) {
  return static_cast<const std::byte*>(view.data) +
         (block * view.block_stride + head * view.head_stride + slot * view.slot_stride) *
             element_bytes(view.type);
}

std::size_t pool_bytes(const KvTensorView& view) {
  return static_cast<std::size_t>(view.num_blocks * view.block_stride * element_bytes(view.type));
}

// A slot's dims lie in packs, or contiguously.
void address_slot(const KvTensorView& view, const std::byte* slot) {
  const bool is_packed = view.layout == KvLayout::kPacked;
  const std::int64_t width = is_packed ? view.pack_width : view.head_dim;
  for (std::int64_t pack = 0; pack < view.head_dim / width; ++pack) {
    __msan_unpoison(slot + pack * view.pack_stride * element_bytes(view.type),
                    static_cast<std::size_t>(width * element_bytes(view.type)));
  }
}

void address_contexts(const KvTensorView& view, const PagedAttentionInputs& inputs) {
  __msan_poison(view.data, pool_bytes(view));
  for (std::size_t seq = 0; seq < inputs.context_length.size(); ++seq) {
    const std::int32_t* row =
        inputs.block_table.data + static_cast<std::int64_t>(seq) * inputs.block_table.row_stride;
    for (std::int64_t token = 0; token < inputs.context_length[seq]; ++token) {
      for (std::int64_t head = 0; head < view.num_kv_heads; ++head) {
        address_slot(view,
                     element(view, row[token / view.block_size], head, token % view.block_size));
      }
    }
  }
}

}  // namespace

TaintScope::TaintScope(const PagedAttentionInputs& inputs) : inputs_(inputs) {
  address_contexts(inputs.kv.k, inputs);
  address_contexts(inputs.kv.v, inputs);
  const BlockTableView& table = inputs.block_table;
  for (std::size_t seq = 0; seq < inputs.context_length.size(); ++seq) {
    const std::int32_t* row = table.data + static_cast<std::int64_t>(seq) * table.row_stride;
    const std::int64_t blocks =
        ceil_div(std::int64_t{inputs.context_length[seq]}, inputs.kv.k.block_size);
    __msan_poison(row + blocks, static_cast<std::size_t>(table.max_blocks - blocks) * sizeof *row);
  }
}

TaintScope::~TaintScope() {
  __msan_unpoison(inputs_.kv.k.data, pool_bytes(inputs_.kv.k));
  __msan_unpoison(inputs_.kv.v.data, pool_bytes(inputs_.kv.v));
  const BlockTableView& table = inputs_.block_table;
  for (std::int64_t seq = 0; seq < table.num_seqs; ++seq) {
    __msan_unpoison(table.data + seq * table.row_stride,
                    static_cast<std::size_t>(table.max_blocks) * sizeof *table.data);
  }
}

void taint(std::span<const std::byte> bytes) { __msan_poison(bytes.data(), bytes.size()); }
void clear_taint(std::span<const std::byte> bytes) { __msan_unpoison(bytes.data(), bytes.size()); }

std::optional<std::size_t> first_tainted(std::span<const std::byte> bytes) {
  const auto first = __msan_test_shadow(bytes.data(), bytes.size());
  if (first < 0) return std::nullopt;
  return static_cast<std::size_t>(first);
}

}  // namespace recto::verify

#else

namespace recto::verify {

TaintScope::TaintScope(const PagedAttentionInputs& inputs) : inputs_(inputs) {}
TaintScope::~TaintScope() = default;
void taint(std::span<const std::byte>) {}
void clear_taint(std::span<const std::byte>) {}
std::optional<std::size_t> first_tainted(std::span<const std::byte>) { return std::nullopt; }

}  // namespace recto::verify

#endif

namespace recto::verify {

std::string taint_text(const std::string& buffer, std::span<const std::byte> bytes,
                       std::int64_t element_bytes) {
  const std::optional<std::size_t> first = first_tainted(bytes);
  if (!first) return {};
  return fmt::format("element {} of {} depends on memory that is not addressed",
                     *first / static_cast<std::size_t>(element_bytes), buffer);
}

}  // namespace recto::verify
