#pragma once

// How many of some mutants were killed, by what sort of check, and what became of the others.

#include <cstdint>
#include <string>

#include "experiments/mutants/campaign_result.h"

namespace recto::experiments {

// As report.py tells sorts of checks: what `recto verify` has for anybody's kernel, and what the
// compiler put into the mutated copies. Others are of tests and properties of recto's own parts.
bool is_of_verify(const std::string& sort);
bool is_instrumentation(const std::string& sort);

// Whether a law holds results against what the reference says, as the oracle does.
bool is_by_reference(const std::string& law);

struct Share {
  std::int64_t part = 0;
  std::int64_t whole = 0;

  std::string text() const;  // "1/2 (50.0 %)", or "-" of nothing
};

struct MutantCounts {
  std::int64_t mutants = 0;
  std::int64_t untried = 0;
  std::int64_t same_code = 0;
  std::int64_t equivalent = 0;  // and other code
  std::int64_t by_verify = 0;
  std::int64_t by_instrumentation = 0;
  std::int64_t survived = 0;
  std::int64_t ended_otherwise = 0;  // by a foreign exception, in a crash, by the clock
  Share killed;                      // of those that were tried, and that somebody may see
  Share imitations[2];               // of a fixed tolerance, of a factor of two
  // Of mutants that `recto verify` was tried on alone, and so were the two above: by all of recto's
  // checks, by these alone, and by laws that compare a backend with itself.
  Share beside_alone;
  Share verify_alone;
  Share laws_alone;

  void add(const TriedMutant& mutant);
  std::int64_t not_killed() const { return untried + survived + ended_otherwise; }
};

}  // namespace recto::experiments
