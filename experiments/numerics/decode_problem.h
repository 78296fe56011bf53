#pragma once

// The decode step of this study, with its memory: one query row, one head, normal q, K and V
// rounded to their types, and the faults that a kernel may have.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/batch.h"
#include "core/random_stream.h"
#include "reference/dense_attention.h"

namespace recto::experiments {

inline constexpr std::int64_t kHeadDim = 128;  // of K and of V

// The types of q, and of K and V.
struct StudyTypes {
  ElementType q = ElementType::kFp32;
  ElementType kv = ElementType::kFp32;

  StudyTypes() = default;
  StudyTypes(ElementType of_all) : q(of_all), kv(of_all) {}
  StudyTypes(ElementType of_q, ElementType of_kv) : q(of_q), kv(of_kv) {}

  std::string name() const;  // "fp32", "fp16/e4m3"
};

// The factor of fp8 codes: with it 448, the largest e4m3 value, stands for about 4.5 standard
// deviations. Other types have no scale.
inline constexpr float kFp8Scale = 0.01F;

// Normal numbers, rounded to a type: their values and their codes, side by side.
struct StoredRows {
  ElementType type;
  reference::Matrix values;      // [rows, kHeadDim]
  std::vector<std::byte> codes;  // [rows, kHeadDim]

  StoredRows(ElementType stored_type, std::int64_t rows, RandomStream stream);
  void set_last(const Eigen::RowVectorXd& row);  // [kHeadDim], rounded
};

class DecodeProblem {
 public:
  // `num_keys` is at least 2.
  DecodeProblem(const StudyTypes& types, std::int64_t num_keys, RandomStream stream);
  DecodeProblem(const DecodeProblem&) = delete;
  DecodeProblem& operator=(const DecodeProblem&) = delete;

  std::int64_t num_keys() const { return k_.values.rows(); }
  const reference::Matrix& q() const { return q_.values; }  // [1, kHeadDim]
  const reference::Matrix& k() const { return k_.values; }  // [num_keys, kHeadDim]
  const reference::Matrix& v() const { return v_.values; }  // [num_keys, kHeadDim]
  std::int64_t donor() const { return donor_; }  // the key whose V with_swapped_value() takes
  reference::HeadOptions head_options() const;

  // Sets the last key to a multiple of q so that its softmax weight is `weight`, in (0, 1), up to
  // rounding of the key to its type. Changes K, but not V.
  void plant_last_key(double weight);
  // Restores the K that was drawn for the last key.
  void restore_last_key();

  // The softmax weight of the last key.
  double last_weight() const;

  // Views of the stored tensors; they follow changes of the last key.
  PagedAttentionInputs inputs() const;
  PagedAttentionInputs without_last_key() const;
  PagedAttentionInputs with_swapped_value() const;
  PagedAttentionInputs with_scale_error(double error) const;  // times 1 + error, rounded to fp32

 private:
  // The log-sum-exp of all scores but the last, and the last score.
  struct Scores {
    double others_lse_ln = 0;
    double last = 0;
  };
  Scores scores() const;
  KvTensorView tensor(const std::vector<std::byte>& memory) const;

  StudyTypes types_;
  std::int64_t donor_ = 0;
  float scale_;
  StoredRows q_;
  StoredRows k_;
  StoredRows v_;
  std::vector<std::byte> swapped_v_;
  Eigen::RowVectorXd drawn_last_key_;
  BatchLists lists_;
  BatchLists shortened_lists_;  // without the last key
};

}  // namespace recto::experiments
