#pragma once

// A write of K and V, derived from a case: its newest tokens are written into pools that have none
// of their codes, and whole pools must match what the reference writes.

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

// Which values are written, and to which slots. kOther: as many as the case's, in pools of the same
// shape, each negated; the case's own slots in reverse order, or the next ones if that changes
// none.
enum class WrittenTokens : std::uint8_t { kOfCase, kOther };

class KvWriteCase {
 public:
  // The last tokens of each sequence, as many as it has rows but at least one, are new, each in its
  // slot. No slot is named twice; some additional tokens, distinct from all others, go nowhere. In
  // fp8, some values need rounding, at ties of the quotient and next to them, or saturate; and half
  // of the case's scales give way to such with few bits, by which ties are hit exactly.
  explicit KvWriteCase(const LawCase& law_case, WrittenTokens written = WrittenTokens::kOfCase);

  const PagedKvView& kv() const { return placed_.inputs().kv; }  // pools have its strides
  std::int64_t num_tokens() const { return std::ssize(slots_); }
  const KvPools& before() const { return before_; }
  const KvPools& expected() const { return expected_; }

  // The call on pools of kv()'s shape; their strides may differ. This object must outlive it.
  KvWriteInputs inputs(const MutablePagedKvView& pools) const;

  // The number of codes in both pools, gaps included.
  std::int64_t num_codes() const;
  // For each pool, what is wrong, where first, and what is there instead; the first row that was
  // written although its slot is -1; the slots, and known faults that give just these pools. Lines;
  // empty if nothing is wrong.
  std::string differences(const KvPools& seen) const;

 private:
  // O((slots + padding rows) (heads head_dim + log(padding rows))).
  std::string written_padding(const KvPools& seen) const;
  // Padding rows by the bytes that they would leave in a slot.
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

// Why nothing of the case is to be written, or nothing if something is.
std::optional<std::string> why_no_token(const LawCase& law_case);

}  // namespace recto::verify
