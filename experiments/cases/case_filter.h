#pragma once

// Which cases are drawn, as flags of recto verify and recto cases name them.

#include <cstdint>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/status.h"
#include "experiments/support/command.h"
#include "verify/cases/case_demands.h"
#include "verify/drawn_cases.h"
#include "verify/serving_kinds.h"

namespace recto::experiments {

// Lists have the form of flags; an empty one stands for all values.
struct CaseFilter {
  std::string types = {};
  std::string layouts = {};
  std::string head_dims = {};
  std::int64_t head_dim_multiple = 1;
  bool has_equal_head_dims = false;
  std::string groups = {};
  std::string block_sizes = {};
  std::string without = {};
  std::string require = {};
  std::string poison = "any";
  std::string tails = "any";
  std::string sinks_type = "fp32";
  std::string scale = "any";
  std::string scales = "any";
  std::string kinds = {};
};

// Adds --type to --kinds. `layouts` are those of the help, by default.
void add_filter_flags(Command& command, CaseFilter& filter, const std::string& layouts);

// "bf16" if both are the same, else "bf16/e4m3".
std::string type_pair_name(const verify::TypePair& types);

// Invalid input, naming the flag: unknown values, demands that exclude each other, head dims that
// a layout cannot have, and block sizes that no case has.
Result<verify::CaseDemands> demands_of(const CaseFilter& filter);

// The names in --kinds. Invalid input for an unknown one.
Result<std::vector<std::string>> kinds_of(const CaseFilter& filter);

// All sets of small cases and kinds of serving size, or those that `kinds` names, within the
// demands and the limits. A serving kind keeps those of its own sizes that are demanded.
struct CaseSets {
  std::vector<verify::DrawnCases> small;
  std::vector<verify::ServingKind> serving;
};
void narrow(const verify::CaseDemands& demands, const std::vector<std::string>& kinds,
            const verify::SizeLimits& limits, CaseSets& sets);

Json filter_json(const CaseFilter& filter);

}  // namespace recto::experiments
