#include "reference/testing/bound_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "reference/rounding.h"

namespace recto::reference {
namespace {

// Most cases are short, so that there can be many; some are long, for what grows with length.
constexpr std::int64_t kShortContext = 24;
constexpr std::int64_t kMediumContext = 200;
constexpr std::int64_t kLongContext = 8192;

std::int64_t between(RandomStream& stream, std::int64_t low, std::int64_t high) {
  return low +
         static_cast<std::int64_t>(stream.next_below(static_cast<std::uint64_t>(high - low + 1)));
}

double uniform(RandomStream& stream) { return 2 * stream.next_unit() - 1; }

// Sum of twelve uniforms: normal enough, and the same everywhere.
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

// Values rounded to `type`, side by side.
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
  make_views();
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
  num_q_heads_ = between(stream, 1, 2);
  num_rows_ = between(stream, 1, 2);
  context_length_ = static_cast<std::int32_t>(
      between(stream, 0, stream.next_below(8) == 0 ? kMediumContext : kShortContext));
  head_dim_k_ = between(stream, 1, 16);
  head_dim_v_ = between(stream, 1, 6);
  if (stream.next_below(1024) == 0) {
    context_length_ = static_cast<std::int32_t>(between(stream, kMediumContext, kLongContext));
  }
}

void BoundCase::draw_options(RandomStream stream) {
  AttentionOptions& options = inputs_.options;
  // Scores from small to thousands.
  options.scale = static_cast<float>(std::exp2(uniform(stream) * 7)) /
                  std::sqrt(static_cast<float>(head_dim_k_));
  if (stream.next_below(4) == 0) options.softcap = static_cast<float>(between(stream, 1, 50));
  options.causal = stream.next_below(4) != 0;
  if (stream.next_below(4) == 0) options.window = between(stream, 1, 32);
  for (std::int64_t head = 0; head < num_q_heads_; ++head) {
    alibi_slopes_.push_back(static_cast<float>(std::exp2(uniform(stream) * 4 - 4)));
    sinks_.push_back(static_cast<float>(uniform(stream) * 20));
  }
  if (stream.next_below(4) == 0) options.alibi_slopes = alibi_slopes_;
  if (stream.next_below(4) == 0) options.sinks = sinks_;
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
}

// Numbers so small that products of theirs are subnormal, and a scale as much larger, so that it
// shows in the scores.
void BoundCase::draw_exponents(RandomStream& stream) {
  const bool has_small_q = q_type_ != ElementType::kFp16;
  if (kv_type_ == ElementType::kFp16) return;
  if (stream.next_below(4) == 0) {
    // The scale stays a number.
    const std::int64_t most = std::min(126, 127 - std::ilogb(inputs_.options.scale));
    const std::int64_t both = between(stream, 100, most);
    const std::int64_t share = between(stream, 0, 2);  // of q: nothing, half, all
    q_exponent_ = has_small_q ? static_cast<int>(both * share / 2) : 0;
    k_exponent_ = static_cast<int>(both) - q_exponent_;
    inputs_.options.scale = std::ldexp(inputs_.options.scale, static_cast<int>(both));
  }
  if (stream.next_below(4) == 0) v_exponent_ = static_cast<int>(between(stream, 100, 126));
  if (!is_fp8(kv_type_)) return;
  // Codes are as they are; it is their scales that are small.
  k_scale_ = std::ldexp(k_scale_, -k_exponent_);
  v_scale_ = std::ldexp(v_scale_, -v_exponent_);
  k_exponent_ = v_exponent_ = 0;
}

void BoundCase::draw_tensors(RandomStream stream) {
  const auto kind = [&stream] { return static_cast<Numbers>(stream.next_below(kNumbersKinds)); };
  q_numbers_ = kind();
  k_numbers_ = kind();
  v_numbers_ = kind();
  q_ = tensor({q_numbers_, q_type_, q_exponent_}, num_rows_, num_q_heads_ * head_dim_k_,
              stream.split("q"));
  k_ = tensor({k_numbers_, kv_type_, k_exponent_}, context_length_, head_dim_k_, stream.split("k"));
  v_ = tensor({v_numbers_, kv_type_, v_exponent_}, context_length_, head_dim_v_, stream.split("v"));
}

void BoundCase::make_views() {
  query_start_[1] = static_cast<std::int32_t>(num_rows_);
  inputs_.q = {.data = q_.data(),
               .type = q_type_,
               .num_rows = num_rows_,
               .num_heads = num_q_heads_,
               .head_dim = head_dim_k_,
               .row_stride = num_q_heads_ * head_dim_k_,
               .head_stride = head_dim_k_};
  KvTensorView view;
  view.type = kv_type_;
  view.num_blocks = 1;
  view.block_size = std::max<std::int64_t>(context_length_, 1);
  view.num_kv_heads = num_kv_heads_;
  if (is_fp8(kv_type_)) view.scale.kind = ScaleKind::kPerTensor;
  const auto with_dims = [&view](const std::vector<std::byte>& memory, std::int64_t head_dim,
                                 const float& scale) {
    KvTensorView tensor = view;
    tensor.data = memory.data();
    tensor.head_dim = tensor.head_stride = tensor.slot_stride = head_dim;
    tensor.block_stride = view.block_size * head_dim;
    if (view.scale.kind != ScaleKind::kNone) tensor.scale.data = &scale;
    return tensor;
  };
  inputs_.kv = {with_dims(k_, head_dim_k_, k_scale_), with_dims(v_, head_dim_v_, v_scale_)};
  inputs_.block_table = {.data = &block_, .num_seqs = 1, .max_blocks = 1, .row_stride = 1};
  inputs_.query_start = query_start_;
  inputs_.context_length = {&context_length_, 1};
}

std::string BoundCase::text() const {
  std::ostringstream out;
  out << "q " << q_type_ << ", kv " << kv_type_ << ", rows " << num_rows_ << ", context "
      << context_length_ << ", heads " << num_q_heads_ << ", head dims " << head_dim_k_ << " and "
      << head_dim_v_ << "\nscale " << inputs_.options.scale << ", softcap "
      << inputs_.options.softcap << ", causal " << inputs_.options.causal << ", window "
      << inputs_.options.window.value_or(0) << ", alibi " << !inputs_.options.alibi_slopes.empty()
      << ", sinks " << !inputs_.options.sinks.empty() << "\ntile " << how_.tile_size << ", split "
      << how_.split_size << ", terms per step " << how_.terms_per_step << ", truncates "
      << (how_.rounding == AccumulatorRounding::kTruncate) << ", sums rounded weights "
      << (how_.summed_weights == SummedWeights::kRounded) << ", base 2 "
      << (how_.base == ExponentialBase::kTwo) << ", merges normalised "
      << (how_.split_merge == SplitMerge::kNormalised) << "\nlanes " << how_.lanes
      << ", flushes subnormals " << (how_.subnormals == Subnormals::kFlushed) << ", fast functions "
      << (how_.functions == MathFunctions::kFast)
      << "\nnumbers of q, k, v: " << static_cast<int>(q_numbers_) << ", "
      << static_cast<int>(k_numbers_) << ", " << static_cast<int>(v_numbers_) << "; times 2^-"
      << q_exponent_ << ", 2^-" << k_exponent_ << ", 2^-" << v_exponent_ << "; scales " << k_scale_
      << ", " << v_scale_;
  return out.str();
}

}  // namespace recto::reference
