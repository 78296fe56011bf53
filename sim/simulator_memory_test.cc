// The memory of a run does not grow with the number of requests: per-request data is freed when the
// request is answered, and reports use histograms and bounded series.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <iostream>

#include "bazel/testing/catch.h"
#include "sim/allocators/paged_allocator.h"
#include "sim/simulator.h"
#include "sim/time/linear_time_model.h"
#include "sim/workloads/builtin_workloads.h"

namespace recto::sim {
namespace {

// 20 requests a second, a mean batch of about 170, a pool that is half full.
std::int64_t finished_requests(std::int64_t request_count) {
  SyntheticOptions workload = builtin_workload("sharegpt-like").value();
  workload.arrivals = parse_arrivals("poisson:20").value();
  workload.request_count = request_count;
  const auto source = SyntheticWorkload::create(workload).value();
  PagedAllocator allocator({.pool_slots = TokenCount(131'072)});
  const LinearTimeModel time_model({.fixed_ns = 20e6,
                                    .per_prefill_token_ns = 10e3,
                                    .per_kv_token_ns = 50,
                                    .per_sequence_ns = 0,
                                    .source = "made up"});
  SimulationOptions options;
  options.scheduler.max_sequences = 512;
  return simulate(*source, allocator, time_model, options).value().counters.requests_finished;
}

// Peak memory of a separate process that runs this many requests.
std::int64_t peak_kib(std::int64_t request_count) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(finished_requests(request_count) == request_count ? 0 : 1);
  int status = 0;
  rusage usage{};
  REQUIRE(wait4(child, &status, 0, &usage) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  return usage.ru_maxrss;
}

TEST_CASE("a million requests peak at most a fifth above ten thousand") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  RECTO_SKIP("a sanitizer keeps what was freed");
#endif
  const std::int64_t few = peak_kib(10'000);
  const std::int64_t many = peak_kib(1'000'000);
  std::cout << "peak memory: " << few << " KiB for 10,000 requests, " << many
            << " KiB for 1,000,000\n";
  CHECK(many <= few * 6 / 5);
}

}  // namespace
}  // namespace recto::sim
