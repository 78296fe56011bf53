#pragma once

// Compares what was seen with what the oracle would give if it had a fault.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/error_bound.h"
#include "verify/explanation/hypotheses.h"
#include "verify/explanation/stale_results.h"
#include "verify/law.h"

namespace recto::verify {

// "a", "a or b", "a, b or c"; of more than five names, the first four and the number of the others.
std::string either_of(const std::vector<std::string>& names);

class HypothesisTrial {
 public:
  // All arguments must outlive the trial. `stale` may be null: not known.
  HypothesisTrial(const Backend& backend, const PagedAttentionInputs& inputs,
                  const reference::AttentionResult& seen, BoundKind bound_kind,
                  const StaleResults* stale);

  const PagedAttentionInputs& inputs() const { return inputs_; }
  const reference::BoundedResult& right() const { return right_; }
  const reference::AttentionResult& seen() const { return seen_; }
  const StaleResults* stale() const { return stale_; }
  reference::KernelNumerics numerics() const { return backend_.numerics(inputs_); }
  // Whether what was seen of a row of the batch is within the bounds of the right result.
  bool is_right(std::int64_t row, std::int64_t head) const;

  reference::BoundedResult bounded(const PagedAttentionInputs& inputs) const;

  // `inputs` are what a kernel with the fault would read.
  void add(const std::string& what, const PagedAttentionInputs& inputs);
  // `faulty` is what a kernel with the fault would return.
  void add(const std::string& what, const reference::BoundedResult& faulty);

  // For faults of one kind in several sizes, which are reported in one line: `explains` says
  // whether one fits what was seen, `name` adds the line.
  bool explains(const reference::BoundedResult& faulty);
  void name(const std::string& what) { report_.fitting.push_back(what); }

  // Adds faults no larger than roundings, for which the bounds of the right result have room: of
  // those that fit, the closest one is named.
  struct Variant {
    std::string what;
    reference::AttentionResult exact;
  };
  void add_roundings(const std::vector<Variant>& variants);
  // From what was seen: each error in units of its bound in the right result.
  double squared_distance(const reference::AttentionResult& exact) const;

  void leave_out(const std::string& what) { report_.left_out.push_back(what); }
  // Whether the case is small enough to try so many faults of a kind; if not, they are left out.
  bool affords(const std::string& what, std::int64_t faults);
  HypothesisReport take();

 private:
  bool fits(const reference::AttentionResult& seen, const reference::BoundedResult& result) const;
  std::optional<std::string> why_weak() const;

  const Backend& backend_;
  const PagedAttentionInputs& inputs_;
  const reference::AttentionResult& seen_;
  BoundKind bound_kind_;
  const StaleResults* stale_;
  reference::BoundedResult right_;
  HypothesisReport report_;
};

}  // namespace recto::verify
