#pragma once

// Fault models: known faults, each as a change of the computation of single rows. One search
// evaluates all of them with the oracle's formulas and bounds. A fault explains a failure if all
// observed results are right under it.

#include <cstdint>
#include <string>
#include <vector>

#include "verify/explain/attention_row.h"
#include "verify/explain/fault_report.h"

namespace recto::verify {

// One change of a case's rows. Adjacent models with the same name are variants, such as tile sizes.
struct FaultModel {
  // The text reported if a variant fits; {} is replaced by the `variant` of all that fit. Without
  // {}, the first variant that fits ends the search.
  std::string name;
  RowChange change;
  std::string variant = {};
};

// Which fitting models of a family are reported.
enum class Naming : std::uint8_t {
  kAllThatFit,
  // For faults no larger than rounding errors.
  kClosest,       // within the right result's bounds: the model closest to the observed results
  kAboutAsClose,  // those closer than the right result, and nearly as close as the closest
};

// The models of one kind that apply to a case.
struct FaultFamily {
  std::vector<FaultModel> models = {};
  // What is left out where trying all models takes too long. Empty: they are always tried.
  std::string what = {};
  Naming naming = Naming::kAllThatFit;
  std::vector<std::string> left_out = {};  // not tried for other reasons
};

// The families, each in its file. fault_table.cc:
FaultFamily faults_of_table(const FailedCase& of);  // those without parameters
// rounding_faults.cc:
FaultFamily truncations(const FailedCase& of);
FaultFamily narrowings(const FailedCase& of);
// key_faults.cc:
FaultFamily cut_offs(const FailedCase& of);
FaultFamily unscaled_sums(const FailedCase& of);
FaultFamily row_searches(const FailedCase& of);
FaultFamily tile_ends(const FailedCase& of);
// address_faults.cc:
FaultFamily padded_groups(const FailedCase& of);
FaultFamily head_limits(const FailedCase& of);
FaultFamily table_strides(const FailedCase& of);
FaultFamily other_blocks(const FailedCase& of);
// memory_faults.cc:
FaultFamily unwritten_rows(const FailedCase& of);
FaultFamily empty_row_faults(const FailedCase& of);

// "a", "a or b", "a, b or c"; of more than five names, the first four and the number of the rest.
std::string either_of(const std::vector<std::string>& names);

// Tries all fault models.
FaultReport find_faults(const FailedCase& of);

}  // namespace recto::verify
