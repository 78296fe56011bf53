#pragma once

// Writing K and V, made of a case: its newest tokens are to be written into pools that have none of
// their codes, and what must come out is what the reference writes, whole pools of it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "verify/kv_moves/kv_pools.h"
#include "verify/law.h"

namespace recto::verify {

class KvWriteCase {
 public:
  // Of each sequence the last tokens, as many as it has rows but one at least, are new, each in its
  // slot; no slot is named twice, and some tokens, which are no others', go nowhere. Some values
  // fp8 has to round, ties among them, or to saturate.
  explicit KvWriteCase(const LawCase& law_case);

  const PagedKvView& kv() const { return placed_.inputs().kv; }  // whose strides pools have
  std::int64_t num_tokens() const { return std::ssize(slots_); }
  const KvPools& before() const { return before_; }
  const KvPools& expected() const { return expected_; }

  // The call, on pools of kv()'s shape, which this outlives; their strides may be others.
  KvWriteInputs inputs(const MutablePagedKvView& pools) const;

  // Every code of both pools, gaps included.
  std::int64_t num_codes() const;
  // What is wrong in each pool, where first, and what is there instead, and the first row that went
  // somewhere though its slot is -1: lines; empty if all is right.
  std::string differences(const KvPools& seen) const;

 private:
  // O((slots + padding rows) (heads head_dim + log(padding rows))).
  std::string written_padding(const KvPools& seen) const;
  // Rows by what they leave in a slot.
  std::map<std::string, std::size_t> padding_rows() const;
  // The bytes of K and of V in one slot.
  std::string codes_at(const KvPools& pools, std::int64_t slot) const;

  PlacedProblem placed_;
  std::vector<std::byte> new_k_;
  std::vector<std::byte> new_v_;
  std::vector<std::int64_t> slots_;
  KvPools before_;
  KvPools expected_;
};

// Why nothing of the case is to be written; nothing where something is.
std::optional<std::string> why_no_token(const LawCase& law_case);

}  // namespace recto::verify
