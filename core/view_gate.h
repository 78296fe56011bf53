#pragma once

// The rules of single tensors: sizes, types, layouts, strides, alignment; and that nothing that a
// call writes overlaps anything else of it. core/attention_gate.h makes calls of them.

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

// What is asked of a call, and what it touches, beside what its inputs and outputs say.
struct GateOptions {
  // What the addresses of q, out, K and V and all strides over their rows must be multiples of: 16
  // for kernels that load vectors. Never less than an element; arrays need no more than that.
  std::int64_t alignment_bytes = 0;
  // kWrite: of a decode step that appends.
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

// One call's gate. Each tensor is checked by itself and against those before it. Memory is never
// read.
class ViewGate {
 public:
  explicit ViewGate(const GateOptions& options) : options_(options) {}

  // Batch sizes may be 0, the sizes of a row may not.
  Status rows(const char* name, const RowsView& view);
  Status written_rows(const char* name, const MutableRowsView& view);

  // K and V by themselves, and as two of a kind: type, layout, blocks and heads are the same. No
  // two elements of one share memory, be it only read: strides that step over less than the sizes
  // say are another cache's.
  Status kv(const KvNames& names, const PagedKvView& view, Access access);

  Status block_table(const BlockTableView& table);

  // As pairs of ids: their address needs no more alignment than an id's.
  Status block_pairs(const char* name, std::span<const BlockPair> pairs);

  // Once all else has been looked at: what the options say that the call touches.
  Status beside();

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
  // what the options add.
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
