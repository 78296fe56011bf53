#pragma once

// Known faults, each as a change of the computation of single rows. One engine evaluates all of
// them with the oracle's formulas and bounds. A fault explains a failure if everything that was
// seen is right under it.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/explain/attention_row.h"
#include "verify/explain/fault_report.h"

namespace recto::verify {

// One of several changes that a fault model stands for, such as one tile size of many.
struct FaultVariant {
  std::string text;
  RowChange change;
};

struct FaultModel {
  // What is told if a variant fits: {} stands for the texts of those that do. Without {}, those
  // after the first one that fits are not tried.
  std::string name;
  std::vector<FaultVariant> variants;

  FaultModel(std::string its_name, std::vector<FaultVariant> its_variants)
      : name(std::move(its_name)), variants(std::move(its_variants)) {}
  FaultModel(std::string its_name, const RowChange& change)
      : FaultModel(std::move(its_name), std::vector<FaultVariant>{{"", change}}) {}
};

// Which models of a family are named.
enum class Naming : std::uint8_t {
  kAllThatFit,
  // For faults no larger than roundings.
  kClosest,       // within the bounds of the right result, the one that is closest to what was seen
  kAboutAsClose,  // those that are closer than the right result, and about as close as any
};

struct FaultFamily {
  std::vector<FaultModel> models = {};
  // What is left out, and how many changes of rows that are, where a case is too large for so many.
  std::string what = {};
  std::int64_t changes = 0;
  Naming naming = Naming::kAllThatFit;
  std::vector<std::string> left_out = {};  // for other reasons
};

// Why a case is too large for so many changes of a kind, or nothing.
std::optional<std::string> why_too_many(const FailedCase& of, const std::string& what,
                                        std::int64_t changes);
// Elements of a row whose result is wrong.
std::int64_t count_wrong(const FailedCase& of, const HeadRow& at);
// "a", "a or b", "a, b or c"; of more than five names, the first four and the number of the others.
std::string either_of(const std::vector<std::string>& names);

// The faults that may apply to the case, by kind: score_faults.cc.
FaultFamily mask_and_score_faults(const FailedCase& of);
FaultFamily capped_alibi(const FailedCase& of);
FaultFamily alibi_origins(const FailedCase& of);
FaultFamily sum_faults(const FailedCase& of);
FaultFamily cache_faults(const FailedCase& of);
// rounding_faults.cc
FaultFamily truncations(const FailedCase& of);
FaultFamily narrowings(const FailedCase& of);
// key_faults.cc
FaultFamily cut_offs(const FailedCase& of);
FaultFamily unscaled_sums(const FailedCase& of);
FaultFamily row_searches(const FailedCase& of);
FaultFamily tile_ends(const FailedCase& of);
// address_faults.cc
FaultFamily head_counts(const FailedCase& of);
FaultFamily padded_groups(const FailedCase& of);
FaultFamily head_limits(const FailedCase& of);
FaultFamily table_strides(const FailedCase& of);
FaultFamily tables(const FailedCase& of);
// memory_faults.cc
FaultFamily unwritten_rows(const FailedCase& of);
FaultFamily empty_row_faults(const FailedCase& of);

// Tries all of them.
FaultReport find_faults(const FailedCase& of);

}  // namespace recto::verify
