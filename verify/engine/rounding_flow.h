#pragma once

// Numbers of the dense run, and how far those of a right engine may be from them: a standard
// deviation for each, which flows on beside the numbers. Errors of different numbers are taken for
// independent, as in the sharp bounds of reference/error_bound.h; what is derived is of first
// order.
//
// Both sides compute in fp64 but for attention, so that errors come from two places alone: the
// kernels, and stores, where numbers that are apart may be rounded apart, by a whole step.

#include <functional>

#include "reference/dense_attention.h"

namespace recto::verify {

// Deviations that an error may have: one that is right is beyond with a probability of 2e-9 if it
// is normal.
inline constexpr double kFlowLambda = 6.0;

struct Flow {
  reference::Matrix value;      // [rows, size]
  reference::Matrix deviation;  // [rows, size], or empty: not followed

  bool is_followed() const { return deviation.size() != 0; }
};

enum class Following { kNo, kYes };

// Exact numbers; what fp64 itself does to them, in another order, is charged.
Flow exact_flow(reference::Matrix value, Following following);

// x W^T, with W as [outputs, inputs].
Flow linear(const Flow& x, const reference::Matrix& weights);

// Of each run of gains.size() numbers in a row: over its root mean square, times the gains.
Flow rms_norm(const Flow& x, const reference::Vector& gains, double epsilon);

Flow add(const Flow& a, const Flow& b);

// silu(gate) * up.
Flow swiglu(const Flow& gate, const Flow& up);

// Heads of head_dim numbers, row r at position r, in pairs p and p + head_dim / 2.
Flow rotate_heads(const Flow& x, std::int64_t head_dim, double base);

// How a number is rounded, and an upper limit of the distance to its neighbours.
struct Store {
  std::function<double(double)> round;
  std::function<double(double)> step;
};

// Rounded numbers. Where one and its error stay on one side of all borders, the error is gone; else
// a whole step of it is charged.
Flow store(const Flow& x, const Store& how);

}  // namespace recto::verify
