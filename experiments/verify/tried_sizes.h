#pragma once

// The sizes, types and layouts of the actual calls, which show the coverage of a run. They differ
// from those of the drawn cases, because laws change the cases, or use only their shape.

#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <string>

#include "core/attention_views.h"
#include "core/json.h"
#include "verify/backend.h"
#include "verify/law.h"

namespace recto::experiments {

// Contexts and rows are those of each sequence, tokens those of a write. Ranges are independent:
// the largest values of two need not have occurred together.
class TriedSizes {
 public:
  void add(const PagedAttentionInputs& inputs);
  void add(const KvWriteInputs& inputs);
  // Adds the pools of a law that moves K and V between pools of the case's shape.
  void add_pools(const verify::LawCase& law_case);
  void add(const TriedSizes& other);

  // "context 0-4096, sequences 1-256, ..., head dims 40 64, groups 1 2 3, block sizes 16 32, types
  // fp32/fp32, layouts packed": lists values that are drawn from lists, and leaves out fields that
  // no call has. Several lines, all but the first preceded by `indent`; no newline at the end.
  std::string text(const std::string& indent) const;
  // {"context": [0, 4096], "sequences": [1, 256], ..., "head dims": [40, 64], ...}: ranges, and
  // lists.
  Json json() const;
  // Adds sizes that json() gave.
  void add(const Json& told);

 private:
  struct Range {
    std::int64_t min = std::numeric_limits<std::int64_t>::max();
    std::int64_t max = std::numeric_limits<std::int64_t>::min();
    bool is_empty() const { return min > max; }
    std::string text() const;
    void add(std::int64_t value);
    void add(const Range& other);
  };

  enum Size : std::uint8_t { kContext, kSequences, kRows, kTokens, kQHeads, kKvHeads };
  static constexpr const char* kNames[] = {"context", "sequences", "rows",
                                           "tokens",  "q heads",   "KV heads"};

  // `type` is that of queries, or of new tokens.
  void add_cache(ElementType type, const PagedKvView& kv);

  Range ranges_[std::size(kNames)];
  std::set<std::int64_t> head_dims_;  // of K and of V
  std::set<std::int64_t> groups_;
  std::set<std::int64_t> block_sizes_;
  std::set<std::string> types_;  // of q, or new tokens, and of the cache
  std::set<std::string> layouts_;
};

// The backend, which shows the inputs of each call that it accepts to `observer`.
verify::Backend observed(verify::Backend backend,
                         const std::function<void(const PagedAttentionInputs&)>& observer);

}  // namespace recto::experiments
