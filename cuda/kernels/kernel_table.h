#pragma once

// Tables of what is instantiated, by types and head dim. Host code.

#include <kernel_dialect.h>

#include <string>
#include <vector>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/refusal.h"
#include "core/status.h"

namespace recto::kernels {

// The row that serves it, or null.
template <typename Entry>
const Entry* find_entry(const std::vector<Entry>& table, const RowsView& q, const KvTensorView& k) {
  for (const Entry& entry : table) {
    if (entry.q_type == q.type && entry.kv_type == k.type && entry.head_dim == k.head_dim) {
      return &entry;
    }
  }
  return nullptr;
}

// Invalid input: there is no such row.
template <typename Entry>
Status check_in_table(const char* name, const std::vector<Entry>& table, const RowsView& q,
                      const KvTensorView& k) {
  if (find_entry(table, q, k) != nullptr) return Status::ok();
  return refusal("q.type, kv.k.type, kv.k.head_dim", std::string("a row of ") + name,
                 std::string(element_type_name(q.type)) + "/" + element_type_name(k.type) +
                     " with " + std::to_string(k.head_dim));
}

}  // namespace recto::kernels
