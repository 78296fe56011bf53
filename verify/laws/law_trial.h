#pragma once

// Code shared by the laws: runs a backend on a case and on its transforms, and compares the results
// within the sum of both sides' bounds, or bit for bit.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/law.h"

namespace recto::verify {

// One side of a law: a case as placed in memory, and the backend's results for it.
struct LawSide {
  std::unique_ptr<const PlacedProblem> placed;
  CallOptions options;  // of the call
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

  // Makes a call. Returns nothing if the backend does not support it; the verdict then gives the
  // reason, and names the variant unless it is the case itself. If a call fails, that is the
  // verdict, and no more calls are made. Precondition: the transformed case passes the gates. The
  // placement's gaps replace those of `options`.
  std::optional<LawSide> run(const LawCase& law_case, const std::string& variant = "",
                             const CallOptions& options = {});
  // The same, for a call that only leaves state in the backend: no support is no reason to skip.
  std::optional<LawSide> run_aside(const LawCase& law_case, const CallOptions& options = {});
  // Repeats the call on the same memory, with other options or inputs.
  std::optional<reference::AttentionResult> run_again(const PagedAttentionInputs& inputs,
                                                      const CallOptions& options,
                                                      const std::string& variant = "");

  // How far the backend's results may be from the exact results.
  reference::AttentionResult bound_of(const LawSide& side) const;

  // Run the case and its variants, which are all the same problem.
  void compare_within_bounds(const LawCase& base, const std::vector<Variant>& variants);
  void compare_bit_for_bit(const LawCase& base, const std::vector<Variant>& variants);

  void record(const std::string& what, const Comparison& comparison);
  void record_skip(const std::string& why);

  // Skipped if nothing was compared; includes the parts that were skipped.
  LawVerdict verdict() const;

 private:
  const Backend& backend_;
  BoundKind bound_kind_;
  LawVerdict verdict_;
  std::vector<std::string> skips_;
  std::string printed_;
};

// How much of the calls' printed text is kept.
inline constexpr std::size_t kPrintedBytesKept = 2000;

// For laws without a precondition.
std::optional<std::string> always_applicable(const LawCase& law_case);

// Elementwise sum of two bounds: the largest sum of two independent errors.
reference::AttentionResult sum_of(reference::AttentionResult a,
                                  const reference::AttentionResult& b);

}  // namespace recto::verify
