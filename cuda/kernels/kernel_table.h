#pragma once

// Tables of instantiations, by types and head dim. Host code.

#include <kernel_dialect.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "core/element_type.h"
#include "core/paged_kv_view.h"
#include "core/refusal.h"
#include "core/status.h"

namespace recto::kernels {

template <typename Params>
struct KernelEntry {
  ElementType q_type;
  ElementType kv_type;
  std::int64_t head_dim;
  int shared_bytes;  // dynamic shared memory of a thread block
  Status (*launch)(const Params& params, KernelStream stream);
};

template <typename Params>
using KernelTable = std::vector<KernelEntry<Params>>;

// Returns a row for each combination of these shapes and types of the cache, which differ only in
// their codes. Launcher has Params, and launch<Shape>(params, stream).
template <typename Launcher, typename... Shapes>
KernelTable<typename Launcher::Params> entries_of(ElementType q_type,
                                                  std::initializer_list<ElementType> kv_types) {
  KernelTable<typename Launcher::Params> entries;
  const auto add = [&]<typename Shape>() {
    for (const ElementType kv_type : kv_types) {
      entries.push_back({q_type, kv_type, Shape::kHeadDim, Shape::kSharedBytes,
                         &Launcher::template launch<Shape>});
    }
  };
  (add.template operator()<Shapes>(), ...);
  return entries;
}

template <typename Params>
KernelTable<Params> joined(std::initializer_list<KernelTable<Params>> tables) {
  KernelTable<Params> all;
  for (const KernelTable<Params>& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

// Returns the row that serves q and k, or null.
template <typename Params>
const KernelEntry<Params>* find_entry(const KernelTable<Params>& table, const RowsView& q,
                                      const KvTensorView& k) {
  for (const KernelEntry<Params>& entry : table) {
    if (entry.q_type == q.type && entry.kv_type == k.type && entry.head_dim == k.head_dim) {
      return &entry;
    }
  }
  return nullptr;
}

// Thread blocks of four warps that a multiprocessor of sm_90 runs at a time, by its shared memory
// and, beyond head dim 128, by its registers. 1 without an entry.
template <typename Params>
std::int64_t blocks_per_sm(const KernelEntry<Params>* entry) {
  constexpr std::int64_t kSharedBytes = 228 * 1024;
  // Shared memory that the system takes, and static variables.
  constexpr std::int64_t kFurtherBytes = 2 * 1024;
  if (entry == nullptr) return 1;
  const std::int64_t by_registers = entry->head_dim <= 128 ? 3 : 2;
  return std::clamp<std::int64_t>(kSharedBytes / (entry->shared_bytes + kFurtherBytes), 1,
                                  by_registers);
}

// Invalid input: there is no such row.
template <typename Params>
Status check_in_table(const char* name, const KernelTable<Params>& table, const RowsView& q,
                      const KvTensorView& k) {
  if (find_entry(table, q, k) != nullptr) return Status::ok();
  return refusal("q.type, kv.k.type, kv.k.head_dim", std::string("a row of ") + name,
                 std::string(element_type_name(q.type)) + "/" + element_type_name(k.type) +
                     " with " + std::to_string(k.head_dim));
}

}  // namespace recto::kernels
