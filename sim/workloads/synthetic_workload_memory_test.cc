// Memory does not grow with the number of requests: the test counts every allocated byte.

#include <malloc.h>

#include <cstdlib>
#include <new>

#include "bazel/testing/catch.h"
#include "sim/workloads/builtin_workloads.h"

namespace {

std::size_t live_bytes = 0;
std::size_t peak_bytes = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(memory);
  if (live_bytes > peak_bytes) peak_bytes = live_bytes;
  return memory;
}

// The library's version would call the operator above, but those of sanitizers do not.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return operator new(bytes);
}

void operator delete(void* memory) noexcept {
  live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace recto::sim {
namespace {

// Peak over the run, beyond the memory in use before it. Requests are answered at once.
std::size_t peak_of_run(SyntheticOptions options, std::int64_t request_count) {
  options.request_count = request_count;
  const std::size_t before = live_bytes;
  peak_bytes = live_bytes;
  const auto source = SyntheticWorkload::create(std::move(options)).value();
  std::int64_t requests = 0;
  while (std::optional<Request> request = source->next().value()) {
    source->finish(request->id, request->arrival);
    ++requests;
  }
  CHECK(requests == request_count);
  return peak_bytes - before;
}

// Each slot keeps the memory of its longest session, so the peak rises slowly to a bound. A tenth
// of a byte per request is less than any per-request data would take.
TEST_CASE("a million requests take no more memory than ten thousand") {
  constexpr std::size_t kSlackBytes = 100'000;
  for (const BuiltinWorkload& builtin : builtin_workloads()) {
    CAPTURE(builtin.name);
    SyntheticOptions options = builtin_workload(builtin.name).value();
    CHECK(peak_of_run(options, 1'000'000) <= peak_of_run(options, 10'000) + kSlackBytes);
    options.arrivals = ClosedLoopArrivals{.clients = 64, .think_s = 1};
    CHECK(peak_of_run(options, 200'000) <= peak_of_run(options, 10'000) + kSlackBytes);
  }
}

}  // namespace
}  // namespace recto::sim
