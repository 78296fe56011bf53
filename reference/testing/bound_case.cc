#include "reference/testing/bound_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "core/dense_kv_view.h"
#include "core/units.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

// Most cases are short, so that many can run; some are long, for errors that grow with length.
constexpr std::int64_t kShortContext = 24;
constexpr std::int64_t kMediumContext = 200;
constexpr std::int64_t kLongContext = 8192;

std::int64_t between(RandomStream& stream, std::int64_t low, std::int64_t high) {
  return low +
         static_cast<std::int64_t>(stream.next_below(static_cast<std::uint64_t>(high - low + 1)));
}

// Returns 2 in one of `count` cases, else 1.
std::int64_t one_or_two(RandomStream& stream, std::uint64_t count) {
  return stream.next_below(count) == 0 ? 2 : 1;
}

double uniform(RandomStream& stream) { return 2 * stream.next_unit() - 1; }

// The sum of twelve uniform numbers is nearly normal, and the same on every machine.
double normal(RandomStream& stream) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += stream.next_unit();
  return sum;
}

double draw(Numbers numbers, double progress, ElementType type, RandomStream& stream) {
  switch (numbers) {
    case Numbers::kUniform:
      return uniform(stream);
    case Numbers::kNormal:
      return normal(stream);
    case Numbers::kHeavyTail:
      return uniform(stream) * std::exp2(static_cast<double>(between(stream, -7, 3)));
    case Numbers::kLargeOffset:
      return 8 + uniform(stream) / 16;
    case Numbers::kAlternating:
      return (stream.next_below(2) == 0 ? 1 : -1) * (1 + uniform(stream) / 64);
    case Numbers::kTiny:
      return stream.next_below(2) == 0
                 ? 1.0
                 : static_cast<double>(between(stream, -9, 9)) * 2 * underflow_error(type);
    case Numbers::kTies:
      return static_cast<double>(between(stream, -1, 1)) * 1.1;
    case Numbers::kConstant:
      return 0.7;
    case Numbers::kGrowing:
      return progress * 2 + uniform(stream) / 8;
    case Numbers::kDominating:
      return progress < 0.1 ? 4.0 : uniform(stream) / 4;
  }
  return 0;
}

struct TensorSource {
  Numbers numbers;
  ElementType type;
  int exponent;  // 2^-exponent of the numbers drawn
};

// Values rounded to `type`, contiguous.
std::vector<std::byte> tensor(const TensorSource& source, std::int64_t rows, std::int64_t row_size,
                              RandomStream stream) {
  const ElementType type = source.type;
  const std::int64_t bytes = element_bytes(type);
  std::vector<std::byte> memory(static_cast<std::size_t>(rows * row_size * bytes));
  std::byte* place = memory.data();
  for (std::int64_t row = 0; row < rows; ++row) {
    const double progress = static_cast<double>(row) / static_cast<double>(rows);
    for (std::int64_t element = 0; element < row_size; ++element) {
      const double value =
          std::ldexp(draw(source.numbers, progress, type, stream), -source.exponent);
      const std::uint32_t code = encode(value, type, Overflow::kSaturate);
      std::memcpy(place, &code, static_cast<std::size_t>(bytes));
      place += bytes;
    }
  }
  return memory;
}

}  // namespace

BoundCase::BoundCase(RandomStream stream) {
  draw_shape(stream.split("shape"));
  draw_options(stream.split("options"));
  draw_tensors(stream.split("tensors"));
}

void BoundCase::draw_shape(RandomStream stream) {
  constexpr ElementType kTypes[][2] = {
      {ElementType::kFp32, ElementType::kFp32}, {ElementType::kFp16, ElementType::kFp16},
      {ElementType::kBf16, ElementType::kBf16}, {ElementType::kFp16, ElementType::kE4m3},
      {ElementType::kFp16, ElementType::kE5m2}, {ElementType::kBf16, ElementType::kE4m3},
      {ElementType::kBf16, ElementType::kE5m2}};
  const auto& types = kTypes[stream.next_below(std::size(kTypes))];
  q_type_ = types[0];
  kv_type_ = types[1];
  constexpr std::int64_t kModelDims[] = {64, 80, 128, 192, 256};
  has_model_dims_ = stream.next_below(64) == 0;
  num_kv_heads_ = has_model_dims_ ? 1 : one_or_two(stream, 8);
  num_q_heads_ = num_kv_heads_ * one_or_two(stream, 3);
  const auto head_dim = [&](std::int64_t most) {
    return has_model_dims_ ? kModelDims[stream.next_below(5)] : between(stream, 1, most);
  };
  head_dim_k_ = head_dim(16);
  head_dim_v_ = head_dim(6);
  draw_sequences(stream);
  draw_blocks(stream);
}

void BoundCase::draw_sequences(RandomStream& stream) {
  const std::int64_t num_seqs = has_model_dims_ ? 1 : one_or_two(stream, 8);
  for (std::int64_t seq = 0; seq < num_seqs; ++seq) {
    const std::int64_t num_rows = one_or_two(stream, 8);
    const bool is_longer = stream.next_below(8) == 0 && !has_model_dims_;
    std::int64_t context = between(stream, 0, is_longer ? kMediumContext : kShortContext);
    if (stream.next_below(1024) == 0 && !has_model_dims_)
      context = between(stream, kMediumContext, kLongContext);
    sequences_.push_back({.num_rows = num_rows, .context_length = context});
  }
}

// Draws blocks of a few slots each, or one block for a whole context. Each sequence has as many as
// the longest.
void BoundCase::draw_blocks(RandomStream& stream) {
  std::int64_t longest = 1;
  for (const BatchSequence& sequence : sequences_)
    longest = std::max(longest, sequence.context_length);
  block_size_ = stream.next_below(2) == 0 ? longest : std::int64_t{1} << stream.next_below(5);
  const std::int64_t max_blocks = ceil_div(longest, block_size_);
  auto block = static_cast<std::int32_t>(max_blocks * std::ssize(sequences_));
  for (BatchSequence& sequence : sequences_)
    while (std::ssize(sequence.blocks) < max_blocks) sequence.blocks.push_back(--block);
}

void BoundCase::draw_options(RandomStream stream) {
  OwnedAttentionOptions& options = options_;
  // Scores range from small to thousands: all dims may be as large as 8.
  const auto dims = static_cast<float>(head_dim_k_);
  options.scale = static_cast<float>(std::exp2(uniform(stream) * 7)) /
                  (has_model_dims_ ? dims : std::sqrt(dims));
  if (stream.next_below(4) == 0) options.scale = -options.scale;
  if (stream.next_below(4) == 0) options.softcap = static_cast<float>(between(stream, 1, 50));
  options.causal = stream.next_below(4) != 0;
  if (stream.next_below(4) == 0) options.window = between(stream, 1, 32);
  std::vector<float> alibi_slopes;
  std::vector<float> sinks;
  for (std::int64_t head = 0; head < num_q_heads_; ++head) {
    const float sign = stream.next_below(3) == 0 ? -1.0F : 1.0F;
    alibi_slopes.push_back(sign * static_cast<float>(std::exp2(uniform(stream) * 4 - 4)));
    sinks.push_back(static_cast<float>(uniform(stream) * 20));
  }
  if (stream.next_below(4) == 0) options.alibi_slopes = alibi_slopes;
  if (stream.next_below(4) == 0) options.sinks = sinks;
  how_.tile_size = between(stream, 1, 64);
  if (stream.next_below(3) == 0) how_.split_size = between(stream, 1, 40);
  if (q_type_ != ElementType::kFp32 && stream.next_below(3) == 0) {
    how_.rounding = AccumulatorRounding::kTruncate;
    how_.terms_per_step = std::int64_t{4} << stream.next_below(3);
  }
  if (stream.next_below(3) == 0) how_.summed_weights = SummedWeights::kRounded;
  if (stream.next_below(3) == 0) how_.base = ExponentialBase::kTwo;
  if (stream.next_below(3) == 0) how_.split_merge = SplitMerge::kNormalised;
  if (is_fp8(kv_type_)) {
    k_scale_ = static_cast<float>(std::exp2(uniform(stream)));
    v_scale_ = static_cast<float>(std::exp2(uniform(stream)));
  }
  if (stream.next_below(3) == 0) how_.lanes = between(stream, 2, 32);
  if (stream.next_below(3) == 0) how_.subnormals = Subnormals::kFlushed;
  if (stream.next_below(3) == 0) how_.functions = MathFunctions::kFast;
  draw_exponents(stream);
  // Numbers that are tiny in fp32 are zero in fp16.
  const bool has_range = q_type_ == ElementType::kBf16 || std::min(k_scale_, v_scale_) > 0.25F;
  if (is_fp8(kv_type_) && has_range && stream.next_below(2) == 0) {
    how_.dequantised = Dequantised::kQueryType;
  }
}

// Draws numbers so small that their products are subnormal, and a larger scale to compensate, so
// that the effect is visible in the scores.
void BoundCase::draw_exponents(RandomStream& stream) {
  const bool has_small_q = q_type_ != ElementType::kFp16;
  if (kv_type_ == ElementType::kFp16) return;
  if (stream.next_below(4) == 0) {
    // Keeps the scale finite.
    const std::int64_t most = std::min(126, 127 - std::ilogb(options_.scale));
    const std::int64_t both = between(stream, 100, most);
    const std::int64_t share = between(stream, 0, 2);  // q's part: none, half, all
    q_exponent_ = has_small_q ? static_cast<int>(both * share / 2) : 0;
    k_exponent_ = static_cast<int>(both) - q_exponent_;
    options_.scale = std::ldexp(options_.scale, static_cast<int>(both));
  }
  if (stream.next_below(4) == 0) v_exponent_ = static_cast<int>(between(stream, 100, 126));
  if (!is_fp8(kv_type_)) return;
  // Codes stay unchanged; their scales are small instead.
  k_scale_ = std::ldexp(k_scale_, -k_exponent_);
  v_scale_ = std::ldexp(v_scale_, -v_exponent_);
  k_exponent_ = v_exponent_ = 0;
}

void BoundCase::draw_tensors(RandomStream stream) {
  const auto kind = [&stream] { return static_cast<Numbers>(stream.next_below(kNumbersKinds)); };
  q_numbers_ = kind();
  k_numbers_ = kind();
  v_numbers_ = kind();
  const KvPoolShape pool = {.type = kv_type_,
                            .num_blocks = sequences_.front().blocks.front() + 1,
                            .block_size = block_size_,
                            .num_kv_heads = num_kv_heads_,
                            .head_dim_k = head_dim_k_,
                            .head_dim_v = head_dim_v_};
  BatchLayout layout = {
      .q = dense_rows<const void*>(nullptr, q_type_, 0, num_q_heads_, head_dim_k_),
      .kv = as_const(dense_kv_view(pool, nullptr, nullptr).value()),
      .sequences = sequences_,
      .options = options_,
      .fill = kNanByte};
  if (is_fp8(kv_type_)) {
    layout.k_scales = {k_scale_};
    layout.v_scales = {v_scale_};
  }
  batch_.emplace(layout);
  std::ranges::copy(tensor({q_numbers_, q_type_, q_exponent_}, batch_->lists.num_rows(),
                           num_q_heads_ * head_dim_k_, stream.split("q")),
                    batch_->q.begin());
  fill_pool(batch_->kv.k, k_numbers_, k_exponent_, stream.split("k"));
  fill_pool(batch_->kv.v, v_numbers_, v_exponent_, stream.split("v"));
}

// Writes the contexts into token-major blocks.
void BoundCase::fill_pool(const MutableKvTensorView& pool, Numbers numbers, int exponent,
                          const RandomStream& stream) {
  const std::int64_t row_size = pool.num_kv_heads * pool.head_dim;
  const std::int64_t row_bytes = row_size * element_bytes(kv_type_);
  auto* const memory = static_cast<std::byte*>(pool.data);
  for (std::size_t seq = 0; seq < sequences_.size(); ++seq) {
    const auto& [num_rows, context_length, blocks] = sequences_[seq];
    const std::vector<std::byte> rows =
        tensor({numbers, kv_type_, exponent}, context_length, row_size, stream.split(seq));
    for (std::int64_t token = 0; token < context_length; ++token) {
      const std::int64_t block = blocks[static_cast<std::size_t>(token / block_size_)];
      const std::int64_t slot = block * block_size_ + token % block_size_;
      std::copy_n(rows.begin() + token * row_bytes, row_bytes, memory + slot * row_bytes);
    }
  }
}

std::string BoundCase::text() const {
  std::ostringstream out;
  out << "q " << q_type_ << ", kv " << kv_type_ << ", heads " << num_q_heads_ << " on "
      << num_kv_heads_ << ", head dims " << head_dim_k_ << " and " << head_dim_v_ << ", block size "
      << block_size_ << "\nrows of context:";
  for (const BatchSequence& sequence : sequences_) {
    out << " " << sequence.num_rows << " of " << sequence.context_length;
  }
  out << "\nscale " << options_.scale << ", softcap " << options_.softcap << ", causal "
      << options_.causal << ", window " << options_.window.value_or(0) << ", alibi "
      << !options_.alibi_slopes.empty() << ", sinks " << !options_.sinks.empty() << "\ntile "
      << how_.tile_size << ", split " << how_.split_size << ", terms per step "
      << how_.terms_per_step << ", truncates " << (how_.rounding == AccumulatorRounding::kTruncate)
      << ", sums rounded weights " << (how_.summed_weights == SummedWeights::kRounded)
      << ", base 2 " << (how_.base == ExponentialBase::kTwo) << ", merges normalised "
      << (how_.split_merge == SplitMerge::kNormalised) << "\nlanes " << how_.lanes
      << ", flushes subnormals " << (how_.subnormals == Subnormals::kFlushed) << ", fast functions "
      << (how_.functions == MathFunctions::kFast) << ", rounds what it dequantises "
      << (how_.dequantised == Dequantised::kQueryType)
      << "\nnumbers of q, k, v: " << static_cast<int>(q_numbers_) << ", "
      << static_cast<int>(k_numbers_) << ", " << static_cast<int>(v_numbers_) << "; times 2^-"
      << q_exponent_ << ", 2^-" << k_exponent_ << ", 2^-" << v_exponent_ << "; scales " << k_scale_
      << ", " << v_scale_;
  return out.str();
}

}  // namespace recto::reference
