// The foreign source of bring_your_own.md, plain and observed: two streams, buffers and their
// logical bounds.

#include <simt_foreign.h>

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "verify/simt/checks/access_checker.h"
#include "verify/simt/examples/two_streams/testdata/two_streams.h"
#include "verify/simt/streams/host_runtime.h"
#include "verify/simt/streams/stream.h"

namespace recto::simt {
namespace {

using Catch::Matchers::ContainsSubstring;

enum class Waiting { kByEvent, kForgotten };

template <typename T>
Buffer buffer_of(const char* name, std::vector<T>& values, BufferUse use) {
  return {name, reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T), use};
}

// A pool of four rows; owner 0 has two of them, owner 1 the others.
struct Problem {
  Problem() {
    for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = static_cast<float>(i);
    Buffer rows = buffer_of("pool", pool, BufferUse::kReadOnly);
    rows.logical_bounds = {.piece_bytes = 32 * sizeof(float),          // a row
                           .may_touch = {{true, false, false, true},   // by owner 0
                                         {false, true, true, false}},  // by owner 1
                           .owner_of_block = {0, 1}};  // thread block 0 works for owner 0
    RECTO_CHECK(memory.add(std::move(rows)).is_ok());
    RECTO_CHECK(memory.add(buffer_of("table", table, BufferUse::kReadOnly)).is_ok());
    RECTO_CHECK(memory.add(buffer_of("turned", turned, BufferUse::kWriteFirst)).is_ok());
    RECTO_CHECK(memory.add(buffer_of("sum", sum, BufferUse::kWriteFirst)).is_ok());
  }

  std::string run(Waiting waiting) {
    Executor executor({});
    AccessChecker checker(memory, {});
#if defined(RECTO_SIMT_CHECKED)
    executor.set_observer(&checker);
#endif
    HostRuntime runtime(executor, {.order = HostOrder::kLate, .memory = &memory});
    Stream first(runtime);
    Stream second(runtime);
    const simt_foreign::StreamHandle first_handle(first);
    const simt_foreign::StreamHandle second_handle(second);
    launch_turn_rows(pool.data(), table.data(), turned.data(), 2, first_handle.get());
    if (waiting == Waiting::kByEvent) {
      Event turned_round;
      first.record(turned_round);
      RECTO_CHECK(second.wait(turned_round).is_ok());
    }
    launch_add_rows(turned.data(), sum.data(), 2, second_handle.get());
    runtime.finish_all();
    return runtime.report().text();
  }

  std::vector<float> pool = std::vector<float>(4 * 32);
  std::vector<int> table = {3, 1};
  std::vector<float> turned = std::vector<float>(2 * 32);
  std::vector<float> sum = std::vector<float>(32);
  DeviceMemory memory;
};

TEST_CASE("two launches with an event between their streams are right, and nothing is told") {
  Problem problem;
  CHECK(problem.run(Waiting::kByEvent) == "");
  CHECK(problem.sum[0] == problem.pool[4 * 32 - 1] + problem.pool[2 * 32 - 1]);
}

#if defined(RECTO_SIMT_CHECKED)
TEST_CASE("a forgotten event is told with both launches and the buffer") {
  Problem problem;
  CHECK_THAT(
      problem.run(Waiting::kForgotten),
      ContainsSubstring("missing dependency in the host program: "
                        "verify/simt/examples/two_streams/testdata/two_streams.cu:25: kernel "
                        "'turn_rows' (operation 1) writes 256 bytes of turned+0; "
                        "verify/simt/examples/two_streams/testdata/two_streams.cu:29: kernel "
                        "'add_rows' (operation 2) reads the same"));
}

TEST_CASE("a row of another owner is told, although it lies in the pool") {
  Problem problem;
  problem.table[0] = 2;
  CHECK_THAT(problem.run(Waiting::kByEvent),
             ContainsSubstring("logical bounds in kernel 'turn_rows': "
                               "verify/simt/examples/two_streams/testdata/two_streams.cu:10: ") &&
                 ContainsSubstring("reads 4 bytes of pool+256, in piece 2 (of 128 bytes), outside "
                                   "the pieces of owner 0: it belongs to owner 1"));
}
#endif

}  // namespace
}  // namespace recto::simt
