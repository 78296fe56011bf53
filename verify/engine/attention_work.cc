#include "verify/engine/attention_work.h"

#include <algorithm>

#include "core/element_type.h"
#include "core/units.h"

namespace recto::verify {
namespace {

// Bytes of K and V of a token.
std::int64_t token_bytes(const ModelShape& shape, const EngineOptions& options) {
  return 2 * shape.kv_size() * element_bytes(options.rounding.cache);
}

}  // namespace

AttentionWork paged_work(const ModelShape& shape, const EngineOptions& options,
                         const EngineStep& step) {
  AttentionWork work;
  for (const SequenceStep& sequence : step.sequences) {
    const std::int64_t context = sequence.context + sequence.rows;
    work.read_bytes += context * token_bytes(shape, options);
    work.read_bytes += ceil_div(context, options.block_size) * std::int64_t{sizeof(std::int32_t)};
    const std::int64_t pairs =
        sequence.rows * sequence.context + sequence.rows * (sequence.rows + 1) / 2;
    work.operations += 4 * pairs * shape.q_size();
  }
  return work;
}

AttentionWork padded_gather_work(const ModelShape& shape, const EngineOptions& options,
                                 const EngineStep& step) {
  std::int64_t most_rows = 0;
  std::int64_t longest = 0;
  for (const SequenceStep& sequence : step.sequences) {
    most_rows = std::max(most_rows, sequence.rows);
    longest = std::max(longest, sequence.context + sequence.rows);
  }
  AttentionWork work;
  for (const SequenceStep& sequence : step.sequences) {
    const std::int64_t context = sequence.context + sequence.rows;
    work.gathered_bytes += (context + longest) * token_bytes(shape, options);
    work.read_bytes += longest * token_bytes(shape, options);
    work.operations += 4 * most_rows * longest * shape.q_size();
  }
  return work;
}

}  // namespace recto::verify
