#pragma once

// Checks and failures by what the cases have: options, types, layouts and sizes.

#include <cstdint>
#include <map>
#include <string>

#include "core/json.h"
#include "verify/cases/case_spec.h"
#include "verify/law.h"

namespace recto::experiments {

class FeatureCounts {
 public:
  // Counts a check of a case for each feature that the case has.
  void add(const verify::CaseSpec& spec, const verify::LawVerdict& verdict);

  // {"window": {"checks": 3, "failed": 1}, "bf16/e4m3": ..., "head dim 64": ...}
  Json json() const;

 private:
  struct Count {
    std::int64_t checks = 0;
    std::int64_t failed = 0;
  };

  std::map<std::string, Count> counts_;
};

}  // namespace recto::experiments
