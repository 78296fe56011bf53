#pragma once

// Fault models: known faults, each as a change of the computation of single rows. One engine
// evaluates all of them with the oracle's formulas and bounds. A fault explains a failure if all
// observed results are right under it.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/explain/attention_row.h"
#include "verify/explain/fault_report.h"

namespace recto::verify {

// One of the changes that a fault model covers, such as one tile size of many.
struct FaultVariant {
  std::string text;
  RowChange change;
};

struct FaultModel {
  // The text reported if a variant fits; {} is replaced by the texts of all variants that fit.
  // Without {}, the first variant that fits ends the search.
  std::string name;
  std::vector<FaultVariant> variants;

  FaultModel(std::string its_name, std::vector<FaultVariant> its_variants)
      : name(std::move(its_name)), variants(std::move(its_variants)) {}
  FaultModel(std::string its_name, const RowChange& change)
      : FaultModel(std::move(its_name), std::vector<FaultVariant>{{"", change}}) {}
};

// Which fitting models of a family are reported.
enum class Naming : std::uint8_t {
  kAllThatFit,
  // For faults no larger than rounding errors.
  kClosest,       // within the right result's bounds: the model closest to the observed results
  kAboutAsClose,  // those closer than the right result, and nearly as close as the closest
};

struct FaultFamily {
  std::vector<FaultModel> models = {};
  // What is left out in cases that are too large, and how many changes of rows it needs.
  std::string what = {};
  std::int64_t changes = 0;
  Naming naming = Naming::kAllThatFit;
  std::vector<std::string> left_out = {};  // omitted for other reasons
};

// Why a case is too large for this many changes of a kind, or nothing.
std::optional<std::string> why_too_many(const FailedCase& of, const std::string& what,
                                        std::int64_t changes);
// The number of wrong elements in a row.
std::int64_t count_wrong(const FailedCase& of, const HeadRow& at);
// "a", "a or b", "a, b or c"; of more than five names, the first four and the number of the rest.
std::string either_of(const std::vector<std::string>& names);

// The faults that may apply to the case, by kind. From score_faults.cc:
FaultFamily mask_and_score_faults(const FailedCase& of);
FaultFamily capped_alibi(const FailedCase& of);
FaultFamily alibi_origins(const FailedCase& of);
FaultFamily sum_faults(const FailedCase& of);
FaultFamily cache_faults(const FailedCase& of);
// From rounding_faults.cc:
FaultFamily truncations(const FailedCase& of);
FaultFamily narrowings(const FailedCase& of);
// From key_faults.cc:
FaultFamily cut_offs(const FailedCase& of);
FaultFamily unscaled_sums(const FailedCase& of);
FaultFamily row_searches(const FailedCase& of);
FaultFamily tile_ends(const FailedCase& of);
// From address_faults.cc:
FaultFamily head_counts(const FailedCase& of);
FaultFamily padded_groups(const FailedCase& of);
FaultFamily head_limits(const FailedCase& of);
FaultFamily table_strides(const FailedCase& of);
FaultFamily tables(const FailedCase& of);
// From memory_faults.cc:
FaultFamily unwritten_rows(const FailedCase& of);
FaultFamily empty_row_faults(const FailedCase& of);

// Tries all fault models.
FaultReport find_faults(const FailedCase& of);

}  // namespace recto::verify
