#pragma once

// Small random and adversarial attention problems with their memory, for tests of the error bounds.
// (verify/cases has larger problems with shrinkers, but reference/ must not depend on it.)

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/batch.h"
#include "core/random_stream.h"
#include "reference/low_precision_attention.h"

namespace recto::reference {

// How the numbers of one tensor are drawn.
enum class Numbers {
  kUniform,  // in +-1
  kNormal,
  kHeavyTail,    // magnitudes over ten powers of two
  kLargeOffset,  // 8 + a little
  kAlternating,  // +-1 and a little
  kTiny,         // subnormal in the storage type, mixed with ones
  kTies,         // one of three values
  kConstant,
  kGrowing,     // ever larger along the context: each tile rescales
  kDominating,  // small except for the first tenth, whose keys may have all the weight
};
inline constexpr int kNumbersKinds = 10;

class BoundCase {
 public:
  // Draws sizes, types, options, placement and numbers from the stream. There are one or two
  // sequences, in blocks of the pool from the last one on; unaddressed slots hold NaN.
  explicit BoundCase(RandomStream stream);
  BoundCase(const BoundCase&) = delete;
  BoundCase& operator=(const BoundCase&) = delete;

  const PagedAttentionInputs& inputs() const { return batch_->inputs; }
  const LowPrecisionOptions& how() const { return how_; }
  std::string text() const;

 private:
  void draw_shape(RandomStream stream);
  void draw_sequences(RandomStream& stream);
  void draw_blocks(RandomStream& stream);
  void draw_options(RandomStream stream);
  void draw_exponents(RandomStream& stream);
  void draw_tensors(RandomStream stream);
  void fill_pool(const MutableKvTensorView& pool, Numbers numbers, int exponent,
                 const RandomStream& stream);

  ElementType q_type_ = ElementType::kFp32;
  ElementType kv_type_ = ElementType::kFp32;
  bool has_model_dims_ = false;  // 64 to 256, with a short context
  std::int64_t num_kv_heads_ = 1;
  std::int64_t num_q_heads_ = 1;
  std::int64_t head_dim_k_ = 1;
  std::int64_t head_dim_v_ = 1;
  Numbers q_numbers_ = Numbers::kUniform;
  Numbers k_numbers_ = Numbers::kUniform;
  Numbers v_numbers_ = Numbers::kUniform;
  int q_exponent_ = 0;
  int k_exponent_ = 0;
  int v_exponent_ = 0;
  float k_scale_ = 1.0F;
  float v_scale_ = 1.0F;
  std::int64_t block_size_ = 1;
  std::vector<BatchSequence> sequences_;
  OwnedAttentionOptions options_;
  LowPrecisionOptions how_;
  std::optional<Batch> batch_;
};

}  // namespace recto::reference
