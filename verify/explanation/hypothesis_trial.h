#pragma once

// What was seen beside what the oracle would give if it had a fault.

#include <cstdint>
#include <string>
#include <vector>

#include "reference/error_bound.h"
#include "verify/explanation/hypotheses.h"
#include "verify/law.h"

namespace recto::verify {

// "a", "a or b", "a, b or c"; of more than four the first ones and a number.
std::string either_of(const std::vector<std::string>& names);

class HypothesisTrial {
 public:
  // All of them outlive it.
  HypothesisTrial(const Backend& backend, const PagedAttentionInputs& inputs,
                  const reference::AttentionResult& seen, BoundKind bound_kind);

  const PagedAttentionInputs& inputs() const { return inputs_; }
  const reference::BoundedResult& right() const { return right_; }
  reference::KernelNumerics numerics() const { return backend_.numerics(inputs_); }

  reference::BoundedResult bounded(const PagedAttentionInputs& inputs) const;

  // The inputs as the fault takes them.
  void add(const std::string& what, const PagedAttentionInputs& inputs);
  // What the fault makes of them.
  void add(const std::string& what, const reference::BoundedResult& faulty);

  // The same for faults of one kind in several sizes, which are told in one line: whether one fits
  // what was seen, and the line.
  bool explains(const reference::BoundedResult& faulty);
  void name(const std::string& what) { report_.fitting.push_back(what); }

  // Faults no larger than roundings, which the bounds of what is right have room for: of those that
  // fit the closest is named.
  struct Variant {
    std::string what;
    reference::AttentionResult exact;
  };
  void add_roundings(const std::vector<Variant>& variants);

  void leave_out(const std::string& what) { report_.left_out.push_back(what); }
  // Whether the case is small enough for so many faults of a kind; else they are left out.
  bool affords(const std::string& what, std::int64_t faults);
  HypothesisReport take();

 private:
  bool fits(const reference::AttentionResult& seen, const reference::BoundedResult& result) const;

  double squared_distance(const reference::AttentionResult& exact) const;

  const Backend& backend_;
  const PagedAttentionInputs& inputs_;
  const reference::AttentionResult& seen_;
  BoundKind bound_kind_;
  reference::BoundedResult right_;
  HypothesisReport report_;
};

}  // namespace recto::verify
