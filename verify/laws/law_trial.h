#pragma once

// Code shared by the laws: runs a backend on a case and on its transforms, and compares the results
// within the sum of both sides' bounds, or bit for bit.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/law.h"

namespace recto::verify {

// One side of a law: a case as laid out in memory, and what the backend computed for it.
struct LawSide {
  std::unique_ptr<const PlacedProblem> placed;
  reference::AttentionResult seen;

  const PagedAttentionInputs& inputs() const { return placed->inputs(); }
};

// A transform of a law's case.
struct Variant {
  std::string what;
  LawCase law_case;
};

class LawTrial {
 public:
  // `backend` must outlive this object.
  LawTrial(const Backend& backend, BoundKind bound_kind)
      : backend_(backend), bound_kind_(bound_kind) {}

  // Return nothing if the backend does not support the case; the verdict then gives the reason, and
  // names the variant unless it is the case itself. What a law makes of a case must pass the gates.
  std::unique_ptr<const PlacedProblem> place(const LawCase& law_case,
                                             const std::string& variant = "");
  std::optional<LawSide> run(const LawCase& law_case, const std::string& variant = "");
  // Runs it for what it leaves in the backend, if that supports it; the verdict does not name it.
  void run_aside(const LawCase& law_case);

  // How far the backend's results may be from the exact results.
  reference::AttentionResult bound_of(const LawSide& side) const;

  // Run the case and its variants, which all pose the same problem.
  void compare_within_bounds(const LawCase& base, const std::vector<Variant>& variants);
  void compare_bit_for_bit(const LawCase& base, const std::vector<Variant>& variants);

  void record(const std::string& what, const Comparison& comparison);
  void record_skip(const std::string& why);

  // Skipped if nothing was compared; otherwise includes the parts that were skipped.
  LawVerdict verdict() const;

 private:
  const Backend& backend_;
  BoundKind bound_kind_;
  LawVerdict verdict_;
  std::vector<std::string> skips_;
};

// For laws without a precondition.
std::optional<std::string> always_applicable(const LawCase& law_case);

// Elementwise sum of two bounds: what two independent errors may add up to.
reference::AttentionResult sum_of(reference::AttentionResult a,
                                  const reference::AttentionResult& b);

}  // namespace recto::verify
