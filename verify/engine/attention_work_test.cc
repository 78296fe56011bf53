#include "verify/engine/attention_work.h"

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

// Three sequences with different lengths and numbers of rows, in fp32.
constexpr ModelShape kShape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 4};
const EngineOptions kOptions = {.block_size = 4};
const EngineStep kStep = {.sequences = {{.context = 10, .rows = 1},
                                        {.context = 0, .rows = 3},
                                        {.context = 5, .rows = 1}}};
constexpr std::int64_t kNumberBytes = 4;
constexpr std::int64_t kLongest = 11;
constexpr std::int64_t kMostRows = 3;

// Counts the work of a padded batch in explicit loops, number by number.
AttentionWork work_by_hand() {
  AttentionWork work;
  for (const SequenceStep& sequence : kStep.sequences) {
    for (std::int64_t number = 0; number < 2 * kShape.kv_size(); ++number) {
      for (std::int64_t key = 0; key < kLongest; ++key) {
        const bool is_padding = key >= sequence.context + sequence.rows;
        work.gathered_bytes += (is_padding ? 1 : 2) * kNumberBytes;  // read, and written
        work.read_bytes += kNumberBytes;
      }
    }
    for (std::int64_t row = 0; row < kMostRows * kShape.num_q_heads; ++row) {
      for (std::int64_t key = 0; key < kLongest; ++key) {
        work.operations += 2 * kShape.head_dim;  // q k
        work.operations += 2 * kShape.head_dim;  // p v
      }
    }
  }
  return work;
}

TEST_CASE("the work of padded attention is counted as it is done, and as it is predicted") {
  const AttentionWork work = work_by_hand();
  CHECK(work == padded_gather_work(kShape, kOptions, kStep));
  // K and V of two heads of four: 64 bytes a slot.
  CHECK(work.gathered_bytes == (20 + 33) * 64);
  CHECK(work.read_bytes == 33 * 64);
  CHECK(work.operations == 4 * 3 * 3 * 11 * 4 * 4);
}

TEST_CASE("paged attention reads each key and block id once, and gathers nothing") {
  const AttentionWork work = paged_work(kShape, kOptions, kStep);
  CHECK(work.gathered_bytes == 0);
  CHECK(work.read_bytes == 20 * 64 + (3 + 1 + 2) * 4);
  // Pairs: 11, 1 + 2 + 3, and 6.
  CHECK(work.operations == 4 * 23 * 4 * 4);
}

}  // namespace
}  // namespace recto::verify
