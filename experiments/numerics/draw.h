#pragma once

// One draw: a decode problem, a run of the kernel under test on it, correct or with a fault, and
// the judges of the result.

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <optional>

#include "core/random_stream.h"
#include "experiments/numerics/decode_problem.h"
#include "reference/error_bound.h"

namespace recto::experiments {

using Row = Eigen::RowVectorXd;

enum class Fault : std::uint8_t {
  kDroppedKey,    // the last key is left out; size: its softmax weight
  kScaleError,    // scores times 1 + size
  kSwappedValue,  // another key's V in place of the last one's; size: its softmax weight
};
inline constexpr std::array kFaults{Fault::kDroppedKey, Fault::kScaleError, Fault::kSwappedValue};

// Each judge refuses a result if |error| of any element of out exceeds the judge's allowance there.
enum class Judge : std::uint8_t {
  kProbabilistic,
  kWorstCase,
  kFixed,      // kFixedTolerance
  kFactorTwo,  // twice the largest error of the yardstick, the plain run in the same types
  // The bounds of the third-party numerics profile, not those of this kernel.
  kOthersProbabilistic,
  kOthersWorstCase,
};
inline constexpr std::array kJudges{
    Judge::kProbabilistic, Judge::kWorstCase,           Judge::kFixed,
    Judge::kFactorTwo,     Judge::kOthersProbabilistic, Judge::kOthersWorstCase};
inline constexpr double kFixedTolerance = 1e-3;

const char* fault_name(Fault fault);
const char* judge_name(Judge judge);

// Whether any element's error exceeds its allowance; NaN does.
bool is_refused(const Row& error, const Row& allowed);

// The smallest size at which error + size * direction is refused: 0 if the error alone is refused,
// infinity if no size is enough.
double smallest_refused(const Row& error, const Row& direction, const Row& allowed);

class Draw {
 public:
  Draw(const StudyTypes& types, std::int64_t num_keys, RandomStream stream);

  // Prepares the correct problem so that the fault can have this size. Returns the size after all
  // rounding: the scale error, or the weight of the planted last key.
  double prepare(Fault fault, double size);

  // Results minus the exact results of the prepared correct problem.
  struct Errors {
    Row out;  // [kHeadDim]
    double lse_ln = 0;
  };
  Errors right_errors() const;
  Row faulty_error(Fault fault, double size) const;  // of out

  Row allowed(Judge judge);             // [kHeadDim]
  const reference::HeadBound& bound();  // [1, kHeadDim], of the kernel's own numerics

  // The derivative of the faulty problem's exact result with respect to the size, at size 0.
  Row direction(Fault fault) const;  // [kHeadDim]

 private:
  // Made on first use.
  struct Bounds {
    std::optional<reference::HeadErrorModel> model = {};
    std::optional<reference::HeadBound> bound = {};
  };

  void solve();
  const reference::HeadBound& bound_by(Bounds& bounds, const reference::KernelNumerics& numerics);
  const reference::HeadBound& bound_of_others();

  DecodeProblem problem_;
  bool is_planted_ = false;
  reference::HeadOutput exact_;
  Bounds own_;
  Bounds others_;
};

}  // namespace recto::experiments
