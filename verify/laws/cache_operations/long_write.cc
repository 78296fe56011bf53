#include "verify/laws/cache_operations/long_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/random_stream.h"

namespace recto::verify {
namespace {

// A power of two up to the limit, one more or one less, or any number up to the limit.
std::int64_t draw_tokens(RandomStream& stream) {
  constexpr std::int64_t kPowers[] = {256, 512, 1024, 2048, kLongWriteTokensMax};
  const std::int64_t power = kPowers[stream.next_below(std::size(kPowers))];
  const auto around = static_cast<std::int64_t>(stream.next_below(4));
  if (around == 3) return 1 + static_cast<std::int64_t>(stream.next_below(kLongWriteTokensMax));
  return std::min(power + around - 1, kLongWriteTokensMax);
}

void append_mixed(std::int64_t count, RandomStream stream, std::vector<float>& values) {
  const std::uint64_t own = values.size();
  values.reserve(values.size() + static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values.push_back(values[stream.next_below(own)]);
}

// Makes room for any number of queries and heads: writes do not read queries.
void forget_queries(AttentionProblem& problem) {
  problem.shape.num_q_heads = problem.shape.num_kv_heads;
  problem.options.alibi_slopes.clear();
  problem.options.sinks.clear();
  const std::int64_t row = problem.shape.num_q_heads * problem.shape.head_dim_k;
  for (SequenceProblem& sequence : problem.sequences)
    sequence.q.assign(static_cast<std::size_t>(sequence.num_rows * row), 0.0F);
}

}  // namespace

LongWrite with_long_write(const LawCase& law_case) {
  LongWrite write{.law_case = law_case};
  RandomStream stream = RandomStream(law_case.placement.seed).split("long write");
  const ProblemShape& shape = law_case.problem.shape;
  const std::int64_t k_row = shape.num_kv_heads * shape.head_dim_k;
  const std::int64_t v_row = shape.num_kv_heads * shape.head_dim_v;
  std::vector<SequenceProblem>& sequences = write.law_case.problem.sequences;
  const auto longer = std::ranges::find_if(
      sequences, [](const SequenceProblem& sequence) { return sequence.context_length > 0; });
  const std::int64_t tokens =
      std::min(draw_tokens(stream), kLongWriteElementsMax / (k_row + v_row));
  if (law_case.placement.seed == 0 || stream.next_below(4) > 0) return write;
  if (longer == sequences.end() || tokens == 0) return write;
  append_mixed(tokens * k_row, stream.split("k"), longer->k);
  append_mixed(tokens * v_row, stream.split("v"), longer->v);
  longer->context_length += tokens;
  longer->num_rows += tokens;
  forget_queries(write.law_case.problem);
  write.text = fmt::format("sequence {} made {} tokens longer", longer - sequences.begin(), tokens);
  return write;
}

}  // namespace recto::verify
