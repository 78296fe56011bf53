// Asynchronous copies of a foreign source, plain and, with the same test, observed.

#include <simt_foreign.h>

#include <cmath>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/executor/device_memory.h"
#include "verify/simt/foreign/testdata/async_kernels.h"

#ifdef RECTO_SIMT_CHECKED
#include "verify/simt/checks/access_checker.h"
#endif

namespace simt_foreign {
namespace {

using Catch::Matchers::ContainsSubstring;
using recto::simt::BufferUse;

struct Run {
  explicit Run(std::size_t in_count, std::size_t out_count) : in(in_count), out(out_count, NAN) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 61);
    add("in", in, BufferUse::kReadOnly);
    add("out", out, BufferUse::kWriteFirst);
  }

  void add(const char* name, std::vector<float>& values, BufferUse use) {
    auto* data = reinterpret_cast<std::byte*>(values.data());
    CHECK(memory.add({name, data, values.size() * sizeof(float), use}).is_ok());
  }

  template <typename Launches>
  std::string report_of(const Launches& launches) {
    recto::simt::Executor executor({});
#ifdef RECTO_SIMT_CHECKED
    recto::simt::AccessChecker checker(memory, {});
    executor.set_observer(&checker);
#endif
    recto::simt::Stream stream(executor);
    const StreamScope scope(stream);
    launches();
    return stream.synchronise().text();
  }

  std::vector<float> in;
  std::vector<float> out;
  recto::simt::DeviceMemory memory;
};

// Checks that a run without its wait is wrong, and that the checks find it where accesses are
// observed.
void check_unfinished(const Run& run, const std::string& text, const std::vector<float>& right,
                      [[maybe_unused]] const std::string& kernel) {
  CHECK(run.out != right);
#ifdef RECTO_SIMT_CHECKED
  CHECK_THAT(text, ContainsSubstring("unfinished copy in kernel '" + kernel +
                                     "': verify/simt/foreign/testdata/async_kernels.cu:") &&
                       ContainsSubstring("began a copy to it, not yet waited for"));
#else
  CHECK(text.empty());
#endif
}

TEST_CASE("tiles are copied by PTX, the pieces that are not there as zeros") {
  constexpr int kTiles = 3;
  constexpr int kPiecesThere = 80;  // of 96
  Run run(kTiles * 128, 32);
  std::vector<float> right(32, 0.0F);
  for (std::size_t i = 0; i < 4 * kPiecesThere; ++i) right[i % 32] += run.in[i];
  const auto with = [&run](bool waits) {
    return run.report_of(
        [&] { run_sum_tiles(run.in.data(), run.out.data(), kTiles, kPiecesThere, waits); });
  };
  CHECK(with(true) == "");
  CHECK(run.out == right);
  check_unfinished(run, with(false), right, "sum_tiles_by_ptx<false>");
}

TEST_CASE("primitives of <cuda_pipeline.h> copy in the background") {
  Run run(48, 48);
  const std::vector<float> right(run.in.rbegin(), run.in.rend());
  const auto with = [&run](bool waits) {
    return run.report_of([&] { run_reverse(run.in.data(), run.out.data(), 48, waits); });
  };
  CHECK(with(true) == "");
  CHECK(run.out == right);
  check_unfinished(run, with(false), right, "reverse_by_pipeline<false>");
}

__global__ void convert(float* global) { __cvta_generic_to_shared(global); }

__global__ void copy_second(const float* in, float* out, int bytes) {
  void* const shared = dynamic_shared();
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  InlinePtx<"cp.async.ca.shared.global [%0 + 4], [%1+4], %2;">()(read(address), read(in),
                                                                 read(bytes));
  InlinePtx<"cp.async.commit_group; cp.async.wait_group 0;">()();
  *out = static_cast<const float*>(__cvta_shared_to_generic(address))[1];
}

TEST_CASE("addresses and sizes of copies that cannot be are told") {
  recto::simt::Executor executor({});
  std::vector<float> in = {1.0F, 2.0F};
  float out = 0.0F;
  const auto text_of = [&](int bytes) {
    return launch(executor, {"copy", {1}, {1}, 16}, copy_second, in.data(), &out, bytes).text();
  };
  CHECK(text_of(4) == "");
  CHECK(out == 2.0F);
  CHECK_THAT(text_of(5), ContainsSubstring("verify/simt/foreign/async_kernels_test.cc:") &&
                             ContainsSubstring("calls cp.async.ca for a size that is not 4, 8"));
  CHECK_THAT(launch(executor, {"convert", {1}, {1}}, convert, in.data()).text(),
             ContainsSubstring("calls __cvta_generic_to_shared with 0x") &&
                 ContainsSubstring("which is not in shared memory"));
}

constexpr bool is_copy(std::string_view text, std::size_t given) {
  return count_ptx_copies(text, given) > 0;
}
static_assert(is_copy("cp.async.commit_group; cp.async.wait_group 3;", 0));
static_assert(is_copy("{ cp.async.ca.shared::cta.global [%0], [%1 + 8], 8, %2; }", 3));
static_assert(!is_copy("cp.async.ca.shared.global [%0], [%1], 8, %2;", 2));
static_assert(!is_copy("cp.async.ca.shared.global %0, [%1], 8;", 2));
static_assert(!is_copy("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 8, 8, %2;", 3));
static_assert(!is_copy("cp.async.bulk.commit_group;", 0));
static_assert(!is_copy("cp.async.wait_all; mov.b32 %0, %1;", 2));

}  // namespace
}  // namespace simt_foreign
