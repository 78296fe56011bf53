#pragma once

// For tests of the reducer: a backend that can be restarted, laws that fail depending on what the
// backend has seen since the last restart, and the reduction of a single failing case.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/law_runner.h"
#include "verify/reducer.h"

namespace recto::verify {

// The block sizes that a backend has seen since it was restarted.
using Seen = std::vector<std::int64_t>;

struct Restartable {
  Backend backend;
  std::shared_ptr<Seen> seen = std::make_shared<Seen>();
  std::shared_ptr<int> restarts = std::make_shared<int>(0);

  Restartable() {
    backend.name = "a library";
    backend.restart = [seen = seen, restarts = restarts](CallsAre) {
      seen->clear();
      ++*restarts;
    };
  }
};

inline bool has(const Seen& seen, std::int64_t size) {
  return std::find(seen.begin(), seen.end(), size) != seen.end();
}

// Fails if `is_broken` returns true for the block sizes seen so far, of which the last is the
// current case's: by a call's failure, if one is given, else by a wrong result.
inline Law law_where(const Restartable& library, std::function<bool(const Seen&)> is_broken,
                     std::optional<Failed> failure = {}) {
  return {.name = "plain",
          .statement = "what came before never matters",
          .why_not_applicable = [](const LawCase&) { return std::optional<std::string>(); },
          .check =
              [seen = library.seen, is_broken, failure](const Backend&, const LawCase& law_case,
                                                        BoundKind) {
                seen->push_back(law_case.placement.block_size);
                LawVerdict verdict;
                verdict.comparison.elements = 1;
                if (!is_broken(*seen)) return verdict;
                if (failure) {
                  verdict.call_failure = failure;
                } else {
                  verdict.found = "a wrong block";
                }
                return verdict;
              }};
}

inline DescribedCase block_of(std::int64_t size) {
  DescribedCase described;
  described.law_case.placement.block_size = size;
  described.description = "block size " + std::to_string(size);
  described.replay = "replay";
  if (size % 10 > 0) {
    described.simpler_cases = [size] {
      return std::vector<std::function<DescribedCase()>>{[size] { return block_of(size - 1); }};
    };
  }
  return described;
}

inline CaseSource blocks_of(std::vector<std::int64_t> sizes) {
  return [sizes, next = std::size_t{0}]() mutable -> std::optional<DescribedCase> {
    if (next == sizes.size()) return std::nullopt;
    return block_of(sizes[next++]);
  };
}

// Records the cases that a run keeps.
struct Kept {
  std::vector<DescribedCase> cases;
  LawRunOptions options;

  Kept() {
    options.keep = [this](const Law&, const Backend&, const DescribedCase& kept,
                          const LawVerdict&) {
      cases.push_back(kept);
      return std::string("replay it");
    };
  }
};

// The simplest case found that breaks the law on the backend in the same way as `failing`.
inline DescribedCase shrink_failure(const Law& law, const Backend& backend,
                                    const DescribedCase& failing, const LawRunOptions& options) {
  const Check check{law, backend, options};
  TrialsLeft left{.work = 4 * options.shrinking_work, .seconds = options.all_shrinking_seconds};
  FailingCases others;
  FailingCase first = failing_case(check, failing, verdict_of_trial(check, failing));
  return reduced(check, std::move(first), {}, left, others).described;
}

}  // namespace recto::verify
