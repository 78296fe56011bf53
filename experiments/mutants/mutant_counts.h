#pragma once

// How many mutants of a set were killed, by what sort of check, and what became of the others.

#include <cstdint>
#include <string>

#include "experiments/mutants/campaign_result.h"

namespace recto::experiments {

// Sorts of checks, classified as in report.py: those that `recto verify` has for any kernel, and
// those that the compiler put into the mutated copies. The others are tests and properties of
// recto's own parts.
bool is_of_verify(const std::string& sort);
bool is_instrumentation(const std::string& sort);

// Whether a law compares results with the reference, as the oracle does.
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
  std::int64_t equivalent = 0;  // but not the same code
  std::int64_t by_verify = 0;
  std::int64_t by_instrumentation = 0;
  std::int64_t survived = 0;
  std::int64_t ended_otherwise = 0;  // by a foreign exception, a crash or the clock
  Share killed;                      // of the tried mutants that are not equivalent
  Share imitations[2];               // of a fixed tolerance, of a factor of two
  // Of the mutants that `recto verify` was tried on alone: killed by it, and by laws that compare a
  // backend with itself.
  Share verify_alone;
  Share laws_alone;

  void add(const TriedMutant& mutant);
  std::int64_t not_killed() const { return untried + survived + ended_otherwise; }
};

}  // namespace recto::experiments
