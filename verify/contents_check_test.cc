// The check of contents on the device, by itself: what it finds is the first of what is wrong.

#include "cuda/kernels/contents_check.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {
namespace {

// Of sequences without tokens, of which these have a negative context.
std::int64_t first_found(std::int64_t num_seqs, const std::vector<std::size_t>& wrong) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(num_seqs), 0);
  for (const std::size_t sequence : wrong) lengths[sequence] = -1;
  kernels::ContentsViolation found;
  simt::Executor executor({});
  simt::Stream stream(executor);
  const kernels::ContentsCheckParams params = {.block_table = {.num_seqs = num_seqs},
                                               .block_size = 1,
                                               .lengths = lengths.data(),
                                               .violation = &found};
  CHECK(kernels::launch_contents_check(params, &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  const bool is_found = found.rule == kernels::ContentsRule::kContextNegative;
  CHECK((is_found || found.rule == kernels::ContentsRule::kNone));
  return is_found ? found.sequence : -1;
}

TEST_CASE("contents are checked by 256 threads, and the first of what they find is told") {
  for (const std::int64_t num_seqs : {1, 255, 256, 257, 511, 512, 513}) {
    CHECK(first_found(num_seqs, {}) == -1);
    CHECK(first_found(num_seqs, {static_cast<std::size_t>(num_seqs - 1)}) == num_seqs - 1);
  }
  CHECK(first_found(257, {255, 256}) == 255);
  CHECK(first_found(257, {256, 0}) == 0);
  CHECK(first_found(600, {556, 300}) == 300);  // one thread's, in turn
  CHECK(first_found(600, {511, 512}) == 511);
}

}  // namespace
}  // namespace recto::verify
