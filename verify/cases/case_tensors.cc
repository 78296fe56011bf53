// Draws the numbers of a case.

#include "verify/cases/case_spec.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "core/random_stream.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

// The source of q, K or V of all sequences.
struct TensorSource {
  FloatSource floats;
  std::int64_t num_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t shared_tokens = 0;  // leading tokens, equal in all sequences
  RandomStream stream;
};

// The stream for the numbers of one token; with exact ties, tokens often share one.
RandomStream token_stream(const TensorSource& source, std::uint64_t id, std::int64_t token) {
  constexpr std::uint64_t kDistinctTokens = 4;
  const auto number = static_cast<std::uint64_t>(token);
  const RandomStream own = token < source.shared_tokens
                               ? source.stream.split("shared").split(number)
                               : source.stream.split("own").split(id).split(number);
  if (source.floats.family != FloatFamily::kExactTies) return own;
  RandomStream which = own.split("which");
  return source.stream.split("repeated").split(which.next_below(kDistinctTokens));
}

// [tokens, num_heads, head_dim]
std::vector<float> draw_tokens(const TensorSource& source, std::uint64_t id, std::int64_t tokens) {
  const auto dim = static_cast<std::size_t>(source.head_dim);
  std::vector<float> values(static_cast<std::size_t>(tokens * source.num_heads) * dim);
  std::span<float> rest = values;
  for (std::int64_t token = 0; token < tokens; ++token) {
    const RandomStream stream = token_stream(source, id, token);
    for (std::int64_t head = 0; head < source.num_heads; ++head) {
      RandomStream head_stream = stream.split(static_cast<std::uint64_t>(head));
      fill_row(source.floats, token, head_stream, rest.first(dim));
      rest = rest.subspan(dim);
    }
  }
  return values;
}

// The signs of each KV head's peak key: [num_kv_heads, head_dim_k] of +-1.
std::vector<float> draw_directions(const ProblemShape& shape, const RandomStream& stream) {
  std::vector<float> signs;
  for (std::int64_t head = 0; head < shape.num_kv_heads; ++head) {
    RandomStream head_stream = stream.split("direction").split(static_cast<std::uint64_t>(head));
    for (std::int64_t dim = 0; dim < shape.head_dim_k; ++dim) {
      signs.push_back(head_stream.next_below(2) == 0 ? 1.0F : -1.0F);
    }
  }
  return signs;
}

// A multiple of the block size, of 64 or of 128, or the token before; or the last token.
std::int64_t draw_edge(std::int64_t context_length, std::int64_t block_size, RandomStream& stream) {
  const std::int64_t sizes[] = {block_size, 64, 128, context_length};
  const std::int64_t size = sizes[stream.next_below(std::size(sizes))];
  const auto multiples = static_cast<std::uint64_t>(context_length / size + 1);
  const std::int64_t edge = static_cast<std::int64_t>(stream.next_below(multiples)) * size -
                            static_cast<std::int64_t>(stream.next_below(2));
  return std::clamp<std::int64_t>(edge, 0, context_length - 1);
}

// A key whose score exceeds all others of its head.
struct PeakKey {
  std::int64_t token = 0;
  double magnitude = kQueryKeyLimit;
};

PeakKey peak_at_end(const SequenceProblem& sequence, std::uint64_t turn) {
  const std::int64_t last = std::max<std::int64_t>(0, sequence.context_length - 1);
  const std::int64_t own = sequence.context_length - sequence.num_rows;
  return {.token = turn % 2 == 0 ? 0 : std::clamp<std::int64_t>(own, 0, last),
          .magnitude = turn / 2 % 2 == 0 ? kQueryKeyLimit : kLowPeak};
}

PeakKey draw_peak(const CaseSpec& spec, const RandomStream& stream, const SequenceProblem& sequence,
                  std::uint64_t id, std::uint64_t head) {
  if (spec.k == FloatFamily::kPeakedEnds) return peak_at_end(sequence, id + head);
  RandomStream edges = stream.split("edge").split(id).split(head);
  return {.token = draw_edge(sequence.context_length, spec.placement.block_size, edges)};
}

void add_peak_keys(const CaseSpec& spec, const RandomStream& stream, SequenceProblem& sequence,
                   std::uint64_t id) {
  const ProblemShape& shape = spec.shape;
  const std::vector<float> directions = draw_directions(shape, stream);
  const std::int64_t dim = shape.head_dim_k;
  for (std::size_t i = 0; i < sequence.q.size(); ++i) {
    const auto flat = static_cast<std::int64_t>(i);
    const std::int64_t kv_head = flat / dim % shape.num_q_heads / shape.group();
    const auto direction = static_cast<std::size_t>(kv_head * dim + flat % dim);
    sequence.q[i] = std::copysign(sequence.q[i], directions[direction]);
  }
  if (sequence.context_length == 0) return;
  for (std::int64_t head = 0; head < shape.num_kv_heads; ++head) {
    const PeakKey peak = draw_peak(spec, stream, sequence, id, static_cast<std::uint64_t>(head));
    for (std::int64_t d = 0; d < dim; ++d) {
      const auto index =
          static_cast<std::size_t>((peak.token * shape.num_kv_heads + head) * dim + d);
      const auto direction = static_cast<std::size_t>(head * dim + d);
      sequence.k[index] = static_cast<float>(peak.magnitude) * directions[direction];
    }
  }
}

// 2^-x for x >= 0, by square roots, which IEEE rounds correctly, unlike powers.
double power_of_half(double x) {
  double power = std::ldexp(1.0, -static_cast<int>(x));
  double root = 0.5;
  for (double rest = x - std::floor(x); rest > 0.0; rest -= std::floor(rest)) {
    root = std::sqrt(root);
    rest *= 2.0;
    if (rest >= 1.0) power *= root;
  }
  return power;
}

std::vector<float> alibi_slopes(AlibiFamily family, std::int64_t num_q_heads) {
  constexpr float kMixedSigns[] = {-1.0F, 1.0F, 0.0F};
  std::vector<float> slopes;
  if (family == AlibiFamily::kNone) return slopes;
  for (std::int64_t head = 0; head < num_q_heads; ++head) {
    const double exponent = 8.0 * static_cast<double>(head + 1) / static_cast<double>(num_q_heads);
    float sign = family == AlibiFamily::kNegative ? -1.0F : 1.0F;
    if (family == AlibiFamily::kMixed) sign = kMixedSigns[head % 3];
    slopes.push_back(sign * static_cast<float>(power_of_half(exponent)));
  }
  return slopes;
}

std::vector<float> draw_sinks(SinkFamily family, std::int64_t num_q_heads,
                              const RandomStream& stream) {
  std::vector<float> sinks;
  if (family == SinkFamily::kNone) return sinks;
  for (std::int64_t head = 0; head < num_q_heads; ++head) {
    RandomStream head_stream = stream.split(static_cast<std::uint64_t>(head));
    double sink = family == SinkFamily::kZero ? 0.0 : draw_normal(head_stream);
    if (family == SinkFamily::kNegligible) sink -= 1000.0;
    if (family == SinkFamily::kDominating) sink += 100.0;
    if (family == SinkFamily::kLowest) sink -= 9990.0;
    if (family == SinkFamily::kComparable) sink += 7.0;
    sinks.push_back(static_cast<float>(sink));
  }
  return sinks;
}

std::vector<float> draw_scales(ScaleKind kind, std::int64_t num_kv_heads,
                               const RandomStream& stream) {
  std::vector<float> scales;
  const std::int64_t counts[] = {0, 1, num_kv_heads};
  for (std::int64_t head = 0; head < counts[static_cast<int>(kind)]; ++head) {
    RandomStream head_stream = stream.split(static_cast<std::uint64_t>(head));
    const double scale = kScaleMin + (kScaleMax - kScaleMin) * head_stream.next_unit();
    scales.push_back(static_cast<float>(scale));
  }
  return scales;
}

// Sets all tokens except the varied ones to 1; `width` values each.
void flatten(const TokenRange& varied, std::int64_t width, std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t token = static_cast<std::int64_t>(i) / width;
    if (token < varied.begin || token >= varied.end) values[i] = 1.0F;
  }
}

std::vector<float> sinks_of(const CaseSpec& spec, const RandomStream& stream) {
  std::vector<float> sinks = draw_sinks(spec.options.sinks, spec.shape.num_q_heads, stream);
  if (!spec.options.has_sinks_of_q_type) return sinks;
  const auto rounded = [type = spec.shape.q_type](double value) {
    return static_cast<float>(reference::decode(reference::encode(value, type), type));
  };
  constexpr double kInside = 0.98;  // rounding may lead beyond the limit of scores
  for (float& sink : sinks)
    sink = std::abs(rounded(sink)) > kScoreLimit ? rounded(kInside * sink) : rounded(sink);
  return sinks;
}

}  // namespace

AttentionProblem make_problem(const CaseSpec& spec) {
  RECTO_CHECK_EQ(check_case(spec), Status::ok());
  const ProblemShape& shape = spec.shape;
  const RandomStream root(spec.seed);
  const TensorSource q{.floats = {spec.q, shape.q_type, kQueryKeyLimit},
                       .num_heads = shape.num_q_heads,
                       .head_dim = shape.head_dim_k,
                       .stream = root.split("q")};
  const TensorSource k{.floats = {spec.k, shape.kv_type, kQueryKeyLimit},
                       .num_heads = shape.num_kv_heads,
                       .head_dim = shape.head_dim_k,
                       .shared_tokens = spec.shared_prefix,
                       .stream = root.split("k")};
  const TensorSource v{.floats = {spec.v, shape.kv_type, kValueLimit},
                       .num_heads = shape.num_kv_heads,
                       .head_dim = shape.head_dim_v,
                       .shared_tokens = spec.shared_prefix,
                       .stream = root.split("v")};
  const OptionsSpec& options = spec.options;
  AttentionProblem problem{
      .shape = shape,
      .options = {.scale = options.scale,
                  .softcap = options.softcap,
                  .causal = options.causal,
                  .window = options.window,
                  .alibi_slopes = alibi_slopes(options.alibi, shape.num_q_heads),
                  .sinks = sinks_of(spec, root.split("sinks"))},
      .k_scales = draw_scales(options.k_scales, shape.num_kv_heads, root.split("k scales")),
      .v_scales = draw_scales(options.v_scales, shape.num_kv_heads, root.split("v scales")),
      .sequences = {}};
  for (const SequenceSpec& sequence : spec.sequences) {
    SequenceProblem& made = problem.sequences.emplace_back();
    made.num_rows = sequence.num_rows;
    made.context_length = sequence.context_length;
    made.q = draw_tokens(q, sequence.id, sequence.num_rows);
    made.k = draw_tokens(k, sequence.id, sequence.context_length);
    made.v = draw_tokens(v, sequence.id, sequence.context_length);
    if (spec.k == FloatFamily::kDominatingKey || spec.k == FloatFamily::kPeakedEnds)
      add_peak_keys(spec, root.split("dominating key"), made, sequence.id);
    if (spec.varied_tokens) {
      flatten(*spec.varied_tokens, shape.num_kv_heads * shape.head_dim_k, made.k);
      flatten(*spec.varied_tokens, shape.num_kv_heads * shape.head_dim_v, made.v);
    }
  }
  return problem;
}

}  // namespace recto::verify
