#pragma once

// A write of K and V, derived from a case: its newest tokens are written into pools that contain
// none of their codes, and whole pools must match what the reference writes.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/attention_views.h"
#include "verify/law.h"
#include "verify/laws/cache_operations/kv_pools.h"

namespace recto::verify {

// Which values are written, and to which slots. kOther: as many tokens as kOfCase, in pools of the
// same shape, with negated values; the case's own slots in reverse order, or each slot's successor
// if reversing changes nothing.
enum class WrittenTokens : std::uint8_t { kOfCase, kOther };

class KvWriteCase {
 public:
  // The last tokens of each sequence (as many as it has rows, at least one) are new, each in its
  // own slot. No slot occurs twice; some additional, distinct tokens have no slot. In fp8, some
  // values need rounding, at ties of the quotient and next to them, or saturate; and half of the
  // case's scales are replaced by scales with few bits, which hit ties exactly.
  explicit KvWriteCase(const LawCase& law_case, WrittenTokens written = WrittenTokens::kOfCase);

  const PagedKvView& kv() const { return placed_.inputs().kv; }  // pools have its strides
  std::int64_t num_tokens() const { return std::ssize(slots_); }
  const KvPools& before() const { return before_; }
  const KvPools& expected() const { return expected_; }

  // The call on pools of kv()'s shape; strides may differ. This object must outlive the result.
  KvWriteInputs inputs(const MutablePagedKvView& pools) const;

  // The number of codes in both pools, gaps included.
  std::int64_t num_codes() const;
  // Lines; empty if nothing is wrong. Per pool, the wrong codes; the first row that was written
  // although its slot is -1; the slots; and known faults that give exactly these pools.
  std::string differences(const KvPools& seen) const;

 private:
  // O((slots + padding rows) (heads head_dim + log(padding rows))).
  std::string written_padding(const KvPools& seen) const;
  // Padding rows, by the bytes that they would leave in a slot.
  std::map<std::string, std::size_t> padding_rows() const;
  // The bytes of K and of V in one slot.
  std::string codes_at(const KvPools& pools, std::int64_t slot) const;

  PlacedProblem placed_;
  RowGaps k_gaps_;
  RowGaps v_gaps_;
  std::vector<std::byte> new_k_;
  std::vector<std::byte> new_v_;
  std::vector<std::int64_t> slots_;
  KvPools before_;
  KvPools expected_;
};

// Why nothing of the case is to be written; nothing if something is.
std::optional<std::string> why_no_token(const LawCase& law_case);

}  // namespace recto::verify
