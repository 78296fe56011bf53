#pragma once

// The rules for single tensors: sizes, types, layouts, strides and alignment; and that nothing a
// call writes overlaps anything else in the call. core/attention_gate.h builds the checks of whole
// calls from them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/attention_views.h"
#include "core/byte_footprint.h"
#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto {

enum class Access { kRead, kWrite };

struct NamedRows {
  const char* name = "";
  RowsView view = {};
};

// Requirements on a call, and memory that it touches in addition to its inputs and outputs.
struct GateOptions {
  // The addresses of q, out, K and V and all strides over their rows must be multiples of this: 16
  // for kernels that use vector loads. It is never less than an element; arrays need only element
  // alignment.
  std::int64_t alignment_bytes = 0;
  // kWrite for a decode step that appends to the cache.
  Access step_cache = Access::kRead;
  std::span<const NamedRows> read_rows = {};  // at most kReadRowsMax
  std::span<std::byte> workspace = {};        // written

  static constexpr std::size_t kReadRowsMax = 2;
};

struct KvNames {
  const char* k = "kv.k";
  const char* k_scale = "kv.k.scale";
  const char* v = "kv.v";
  const char* v_scale = "kv.v.scale";
};

// The gate of one call. Each tensor is checked by itself and against those before it. Never reads
// memory.
class ViewGate {
 public:
  explicit ViewGate(const GateOptions& options) : options_(options) {}

  // Batch sizes may be 0; the other sizes of a row may not.
  Status rows(const char* name, const RowsView& view) {
    return add_rows(name, view, Access::kRead);
  }
  Status written_rows(const char* name, const MutableRowsView& view) {
    return add_rows(name, as_const(view), Access::kWrite);
  }

  // Checks K and V each by itself and against each other: type, layout, blocks and heads must be
  // the same. No two elements of one tensor may share memory, even if it is only read: strides that
  // step over less than the sizes imply belong to another cache.
  Status kv(const KvNames& names, const PagedKvView& view, Access access);

  Status block_table(const BlockTableView& table);

  // Treated as pairs of ids: the address needs only the alignment of an id.
  Status block_pairs(const char* name, std::span<const BlockPair> pairs);

  // Checks the memory that the options add to the call: read_rows and workspace. Call it last.
  Status check_extra_memory();

  template <typename T>
  Status array(const char* name, std::span<const T> values) {
    return add(array_tensor(name, values.data(), std::ssize(values)), 0, Access::kRead);
  }
  template <typename T>
  Status written_array(const char* name, std::span<T> values) {
    return add(array_tensor(name, values.data(), std::ssize(values)), 0, Access::kWrite);
  }

 private:
  struct Seen {
    ByteFootprint bytes;
    Access access = Access::kRead;
  };

  // K, V and their scales, three tensors of rows, a table, lengths, slopes, sinks, out, lse; and
  // the tensors that the options add.
  static constexpr std::size_t kTensorsMax = 13 + GateOptions::kReadRowsMax + 1;

  template <typename T>
  static StridedTensor array_tensor(const char* name, const T* data, std::int64_t size) {
    return {.name = name,
            .data = data,
            .element_bytes = sizeof(T),
            .run_field = "size",
            .run = size,
            .levels = {}};
  }

  Status add_rows(const char* name, const RowsView& view, Access access);
  Status scale(const char* name, const KvTensorView& view);
  Status cache(const StridedTensor& tensor, Access access);
  Status add(const StridedTensor& tensor, std::int64_t alignment_bytes, Access access);
  Status add(const ByteFootprint& bytes, Access access);

  GateOptions options_;
  std::array<Seen, kTensorsMax> seen_;
  std::size_t num_seen_ = 0;
};

}  // namespace recto
