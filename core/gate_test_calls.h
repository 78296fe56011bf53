#pragma once

// Valid calls for tests to break. Tables and lengths are real memory; tensors are fixed addresses
// that are never read, so that tests know every message exactly.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/attention_gate.h"
#include "core/attention_views.h"
#include "core/dense_kv_view.h"

namespace recto::testing {

inline void* address(std::uintptr_t value) { return reinterpret_cast<void*>(value); }

// These addresses are far enough apart for every tensor below.
inline constexpr std::uintptr_t kQAddress = 0x10000;
inline constexpr std::uintptr_t kKAddress = 0x20000;
inline constexpr std::uintptr_t kVAddress = 0x30000;
inline constexpr std::uintptr_t kOutAddress = 0x40000;
inline constexpr std::uintptr_t kNewKAddress = 0x50000;
inline constexpr std::uintptr_t kNewVAddress = 0x60000;

inline KvPoolShape small_pool(KvLayout layout = KvLayout::kTokenMajor) {
  return {.layout = layout,
          .type = ElementType::kFp16,
          .num_blocks = 8,
          .block_size = 16,
          .num_kv_heads = 2,
          .head_dim_k = 16,
          .head_dim_v = 8};
}

inline MutablePagedKvView pool_at(const KvPoolShape& shape) {
  return dense_kv_view(shape, address(kKAddress), address(kVAddress)).value();
}

template <typename Pointer = const void*>
BasicRowsView<Pointer> dense_rows(std::uintptr_t data, std::int64_t rows, std::int64_t heads,
                                  std::int64_t dim) {
  return recto::dense_rows<Pointer>(address(data), ElementType::kFp16, rows, heads, dim);
}

// The memory that both attention calls share. The views point into it, so it must not move.
struct CallMemory {
  CallMemory() = default;
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;

  // [3, 3] with a row stride of 4; entries that no context reaches are garbage.
  std::vector<std::int32_t> table = {7, 0, -1, 99, -5, 1 << 30, 8, 99, 3, 3, 6, 99};
  std::vector<std::int32_t> query_start = {0, 2, 2, 5};
  std::vector<std::int32_t> lengths = {20, 0, 48};
  std::vector<float> slopes = {0.5F, -0.25F, 0.0F, 1e-30F};
  std::vector<float> sinks = {0.0F, -std::numeric_limits<float>::infinity(), 3.0F, -2.0F};
  std::vector<float> scales = {0.5F, 2.0F};
  std::vector<float> lse_ln = std::vector<float>(20);

  BlockTableView block_table() const { return {table.data(), 3, 3, 4}; }
  AttentionOptions options() const {
    return {.scale = 0.25F,
            .softcap = 30.0F,
            .causal = true,
            .window = 7,
            .alibi_slopes = slopes,
            .sinks = sinks};
  }
};

struct AttentionCall : CallMemory {
  PagedAttentionInputs inputs{.q = dense_rows(kQAddress, 5, 4, 16),
                              .kv = as_const(pool_at(small_pool())),
                              .block_table = block_table(),
                              .query_start = query_start,
                              .context_length = lengths,
                              .options = options()};
  AttentionOutputs outputs{.out = dense_rows<void*>(kOutAddress, 5, 4, 8), .lse_ln = lse_ln};
  GateOptions gate;

  Status check() const { return check_shapes(inputs, outputs, gate); }
};

struct DecodeCall : CallMemory {
  DecodeStepInputs inputs{.q = dense_rows(kQAddress, 3, 4, 16),
                          .new_k = dense_rows(kNewKAddress, 3, 2, 16),
                          .new_v = dense_rows(kNewVAddress, 3, 2, 8),
                          .kv = as_const(pool_at(small_pool())),
                          .block_table = block_table(),
                          .cached_length = lengths,
                          .options = options()};
  AttentionOutputs outputs{.out = dense_rows<void*>(kOutAddress, 3, 4, 8),
                           .lse_ln = std::span(lse_ln).first(12)};
  GateOptions gate;

  Status check() const { return check_shapes(inputs, outputs, gate); }
};

struct WriteCall {
  WriteCall() = default;
  WriteCall(const WriteCall&) = delete;
  WriteCall& operator=(const WriteCall&) = delete;

  std::vector<std::int64_t> slots = {5, -1, 127, 5};
  std::vector<float> scales = {0.5F, 2.0F};
  KvWriteInputs inputs{.k = dense_rows(kNewKAddress, 4, 2, 16),
                       .v = dense_rows(kNewVAddress, 4, 2, 8),
                       .slot_mapping = slots,
                       .kv = pool_at(small_pool())};
  GateOptions gate;

  Status check() const { return check_shapes(inputs, gate); }
};

struct CacheCall {
  MutablePagedKvView kv = pool_at(small_pool());
  GateOptions gate;

  Status check() const { return check_shapes(kv, {}, gate); }
};

// A call just within a limit, a call just beyond it, and the message for the latter.
template <typename Call>
struct RuleCase {
  void (*within)(Call&);
  void (*beyond)(Call&);
  std::string message;
};

template <typename Call>
void check_rules(const std::vector<RuleCase<Call>>& rules, Status (*check)(const Call&)) {
  for (const RuleCase<Call>& rule : rules) {
    INFO(rule.message);
    Call passing;
    rule.within(passing);
    CHECK(check(passing) == Status::ok());
    Call refused;
    rule.beyond(refused);
    CHECK(check(refused) == Status::invalid_input(rule.message));
  }
}

template <typename Call>
void check_rules(const std::vector<RuleCase<Call>>& rules) {
  check_rules<Call>(rules, [](const Call& call) { return call.check(); });
}

}  // namespace recto::testing
