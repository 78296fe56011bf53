// A source with NVIDIA's 16- and 8-bit types, plain and, with the same test, observed: then its
// accesses are checked, too.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <simt_foreign.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/simt/executor/device_memory.h"
#include "verify/simt/foreign/testdata/half_kernels.h"

#ifdef RECTO_SIMT_CHECKED
#include "verify/simt/checks/access_checker.h"
#endif

namespace simt_foreign {
namespace {

using recto::simt::BufferUse;
using recto::simt::Stream;
using recto::simt::device::number_of;
using recto::simt::device::rounded;

// A stream, and memory that is checked where accesses are observed.
class Run {
 public:
  template <typename T>
  void add(const char* name, std::vector<T>& values, BufferUse use) {
    auto* data = reinterpret_cast<std::byte*>(values.data());
    CHECK(memory_.add({name, data, values.size() * sizeof(T), use}).is_ok());
  }

  template <typename Launches>
  std::string report_of(const Launches& launches) {
    recto::simt::Executor executor({});
#ifdef RECTO_SIMT_CHECKED
    recto::simt::AccessChecker checker(memory_, {});
    executor.set_observer(&checker);
#endif
    Stream stream(executor);
    const StreamScope scope(stream);
    launches();
    return stream.synchronise().text();
  }

 private:
  recto::simt::DeviceMemory memory_;
};

TEST_CASE("codes of 8 bits become bfloat16, rounded once") {
  constexpr int kCount = 100;
  std::vector<__nv_fp8_e4m3> codes;
  std::vector<__nv_bfloat16> bias;
  for (int i = 0; i < kCount; ++i) {
    codes.emplace_back(static_cast<float>(i % 16) / 4.0F);
    bias.push_back(__float2bfloat16(0x1p-40F));
  }
  std::vector<__nv_bfloat16> out(kCount, __float2bfloat16(NAN));
  Run run;
  run.add("bias", bias, BufferUse::kReadOnly);
  run.add("codes", codes, BufferUse::kReadOnly);
  run.add("out", out, BufferUse::kWriteFirst);
  // 3.5 (1 + 2^-7) lies between two numbers, and 2^-40 more is nearer to the upper one, which has
  // an odd last bit.
  constexpr float kScale = 1 + 0x1p-7F;
  CHECK(
      run.report_of([&] { run_dequantise(bias.data(), codes.data(), kScale, out.data(), kCount); })
          .empty());
  for (int i = 0; i < kCount; ++i) {
    const float code = static_cast<float>(i % 16) / 4.0F;
    INFO(code);
    // bfloat16 neighbours are 2^-7 of the power of two apart; the bias makes ties round up.
    const float step = code == 0 ? 0x1p-47F : std::ldexp(1.0F, std::ilogb(code * kScale) - 7);
    const float exact = code * kScale;
    const float expected = code == 0 ? 0x1p-40F : std::floor(exact / step + 0.5F) * step;
    CHECK(__bfloat162float(out[static_cast<std::size_t>(i)]) == expected);
  }
#ifdef RECTO_SIMT_CHECKED
  const std::string text = run.report_of(
      [&] { run_dequantise(bias.data(), codes.data(), 1.0F, out.data(), kCount + 1); });
  CHECK(text.find("out of bounds in kernel 'dequantise'") != std::string::npos);
  CHECK(text.find("thread 36 ") != std::string::npos);
#endif
}

TEST_CASE("pairs of halves go through exponentials, shared memory and a division") {
  constexpr int kCount = 48;
  std::vector<__half2> in;
  for (int i = 0; i < kCount; ++i) in.push_back(__floats2half2_rn(0.0F, i == 7 ? 1.0F : 0.0F));
  std::vector<__half2> out(kCount, __float2half2_rn(NAN));
  Run run;
  run.add("in", in, BufferUse::kReadOnly);
  run.add("out", out, BufferUse::kWriteFirst);
  CHECK(run.report_of([&] { run_weigh_pairs(in.data(), out.data(), kCount); }).empty());
  for (int i = 0; i < kCount; ++i) {
    const __half2 pair = out[static_cast<std::size_t>(i)];
    CHECK(__low2float(pair) == __half2float(__float2half(1.0F / 48)));
    const float weight = i == 7 ? __half2float(__float2half(std::exp(2.0F))) : 1.0F;
    CHECK(__high2float(pair) == __half2float(__float2half(weight / 48)));
  }
}

TEST_CASE("pairs of halves are read at multiples of four bytes") {
  constexpr int kCount = 8;
  std::vector<__half2> in(kCount + 1, __float2half2_rn(1.5F));
  std::vector<__half> out(kCount, __float2half(NAN));
  const auto* halves = reinterpret_cast<const __half*>(in.data());
  Run run;
  run.add("in", in, BufferUse::kReadOnly);
  run.add("out", out, BufferUse::kWriteFirst);
  CHECK(run.report_of([&] { run_add_pairs_at(halves + 2, out.data(), kCount); }).empty());
  for (const __half sum : out) CHECK(__half2float(sum) == 3.0F);
#ifdef RECTO_SIMT_CHECKED
  const std::string text = run.report_of([&] { run_add_pairs_at(halves + 1, out.data(), kCount); });
  CHECK(text.find("misaligned in kernel 'add_pairs_at': "
                  "verify/simt/foreign/testdata/half_kernels.cu:37: thread 0 ") == 0);
  CHECK(text.find("__half2' at in+2, which is not aligned to 4 bytes") != std::string::npos);
#endif
}

template <typename T>
void check_functions() {
  const T two = rounded<T>(2.0F);
  const T four = rounded<T>(4.0F);
  CHECK(number_of(hsqrt(four)) == 2.0F);
  CHECK(number_of(hrcp(two)) == 0.5F);
  CHECK(number_of(hrsqrt(four)) == 0.5F);
  CHECK(number_of(hexp2(two)) == 4.0F);
  CHECK(number_of(hlog2(four)) == 2.0F);
  CHECK(number_of(htanh(rounded<T>(0.0F))) == 0.0F);
  CHECK(number_of(__hfma(two, four, two)) == 10.0F);
  CHECK(number_of(__hfma_sat(two, four, two)) == 1.0F);
  CHECK(number_of(__hfma_relu(two, rounded<T>(-4.0F), two)) == 0.0F);
}

TEST_CASE("functions of half precision that nvcc alone has are there for both types") {
  check_functions<__half>();
  check_functions<__nv_bfloat16>();
}

}  // namespace
}  // namespace simt_foreign
