// A product of matrices by TMA, mbarriers and wgmma, as nvcc compiles it for sm_90a.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/ptx/launch.h"

namespace recto::ptx {
namespace {

constexpr const char* kFile = "verify/ptx/examples/gemm_ptx_90a/tma_gemm.ptx";
constexpr std::size_t kSharedBytes = 36 << 10;

std::optional<std::string> ptx_text() {
  std::ifstream file(kFile);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// [rows, columns], with rows of a multiple of 16 bytes.
struct Matrix {
  TensorElement element = TensorElement::kBf16;
  const void* data = nullptr;
  int rows = 0;
  int columns = 0;
};

TensorMapBytes map_of(const Matrix& matrix, const std::array<std::uint32_t, 2>& box,
                      Swizzle swizzle) {
  TensorMap map;
  map.element = matrix.element;
  map.swizzle = swizzle;
  map.rank = 2;
  map.global_address = reinterpret_cast<std::uint64_t>(matrix.data);
  map.sizes = {static_cast<std::uint64_t>(matrix.columns), static_cast<std::uint64_t>(matrix.rows)};
  map.strides = {0, map.sizes[0] * element_bytes(matrix.element)};
  map.box = {box[0], box[1]};
  Result<TensorMapBytes> bytes = encode_tiled(map);
  REQUIRE(bytes.status() == Status::ok());
  return bytes.value();
}

class Gemm {
 public:
  Gemm(int rows, int columns, int depth)
      : rows_(rows),
        columns_(columns),
        depth_(depth),
        a_(elements(rows, depth) + 8),
        b_(elements(columns, depth) + 8),
        d_(elements(rows, columns) + 4) {
    RandomStream random(3);
    // Small integers: their sums are exact in every order.
    for (std::vector<std::uint16_t>* matrix : {&a_, &b_}) {
      for (std::uint16_t& x : *matrix) {
        const auto value = static_cast<float>(random.next_below(9)) - 4;
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof(bits));
        x = static_cast<std::uint16_t>(bits >> 16);
      }
    }
  }

  LaunchReport run(const std::string& text, const LaunchOptions& options) {
    Result<Module> module = Module::parse(text);
    REQUIRE(module.status() == Status::ok());
    Result<Kernel> kernel = module.value().kernel("tma_gemm");
    REQUIRE(kernel.status() == Status::ok());
    const auto a =
        map_of({TensorElement::kBf16, aligned(a_), rows_, depth_}, {64, 64}, Swizzle::k128Bytes);
    const auto b =
        map_of({TensorElement::kBf16, aligned(b_), columns_, depth_}, {64, 32}, Swizzle::k128Bytes);
    const auto d =
        map_of({TensorElement::kF32, aligned(d_), rows_, columns_}, {32, 64}, Swizzle::kNone);
    DeviceMemory memory;
    memory.add("a", aligned(a_), elements(rows_, depth_) * 2, BufferAccess::kReadOnly);
    memory.add("b", aligned(b_), elements(columns_, depth_) * 2, BufferAccess::kReadOnly);
    memory.add("d", aligned(d_), elements(rows_, columns_) * 4, BufferAccess::kWriteFirst);
    const LaunchShape shape{{static_cast<std::uint32_t>((columns_ + 31) / 32),
                             static_cast<std::uint32_t>((rows_ + 63) / 64), 1},
                            {160, 1, 1},
                            kSharedBytes};
    return launch(kernel.value(), shape, Arguments().add(a).add(b).add(d).add(depth_), memory,
                  options);
  }

  // How many elements of d differ from those of a plain loop.
  int num_wrong() {
    int wrong = 0;
    for (int i = 0; i < rows_; ++i) {
      for (int j = 0; j < columns_; ++j) {
        float sum = 0;
        for (int k = 0; k < depth_; ++k) {
          sum += number(aligned(a_)[i * depth_ + k]) * number(aligned(b_)[j * depth_ + k]);
        }
        if (aligned(d_)[i * columns_ + j] != sum) ++wrong;
      }
    }
    return wrong;
  }

 private:
  static std::size_t elements(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  static float number(std::uint16_t bf16) {
    const std::uint32_t bits = std::uint32_t{bf16} << 16;
    float x = 0;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
  }
  // Tensors begin at multiples of 16 bytes.
  template <typename T>
  static T* aligned(std::vector<T>& data) {
    const auto address = reinterpret_cast<std::uintptr_t>(data.data());
    return data.data() + (16 - address % 16) % 16 / sizeof(T);
  }

  int rows_;
  int columns_;
  int depth_;
  std::vector<std::uint16_t> a_;
  std::vector<std::uint16_t> b_;
  std::vector<float> d_;
};

// With all these parts left out.
std::string without(std::string text, const std::string& part) {
  REQUIRE(text.find(part) != std::string::npos);
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) {
    text.erase(at, part.size());
  }
  return text;
}

TEST_CASE("a product by TMA and wgmma equals that of a plain loop, under every schedule") {
  const std::optional<std::string> text = ptx_text();
  if (!text) return testing::report_skipped(std::string(kFile) + " does not exist");
  for (const SchedulePolicy policy : simt::kSchedulePolicies) {
    for (const std::uint64_t seed : {0U, 1U}) {
      INFO(simt::schedule_policy_name(policy) << " " << seed);
      Gemm gemm(64, 32, 320);
      CHECK(gemm.run(*text, {.checks = Checks::all(), .schedule = {policy, seed}}).text() == "");
      CHECK(gemm.num_wrong() == 0);
    }
  }
  // Tiles that stand out over the matrices' edges.
  Gemm gemm(100, 40, 72);
  CHECK(gemm.run(*text, {}).text() == "");
  CHECK(gemm.num_wrong() == 0);
}

TEST_CASE("faults planted in the product are found at their place") {
  const std::optional<std::string> text = ptx_text();
  if (!text) return testing::report_skipped(std::string(kFile) + " does not exist");
  struct Fault {
    std::string removed;
    Check check;
    std::string place;  // a part of the finding
  };
  const Fault faults[] = {
      {"fence.proxy.async.shared::cta;", Check::kProxyFence, "cp.async.bulk.tensor.2d.global"},
      {"wgmma.fence.sync.aligned;", Check::kWarpgroup, "wgmma.mma_async"},
      {"wgmma.wait_group.sync.aligned 0;", Check::kWarpgroup, "touches a register"},
      {"@!ended bra.uni WAIT;", Check::kMbarrier, "where 0 arrivals are missing"},
      {"bar.sync 1, 128;", Check::kRace, "copies"},
      {"cp.async.bulk.wait_group.read 0;", Check::kUnfinishedCopy, "exits before its copy"},
  };
  for (const Fault& fault : faults) {
    INFO(fault.removed);
    Gemm gemm(64, 32, 320);
    const LaunchReport report =
        gemm.run(without(*text, fault.removed),
                 {.checks = Checks::all(), .schedule = {SchedulePolicy::kInOrder, 1}});
    REQUIRE(!report.passed());
    CHECK(std::any_of(report.findings.begin(), report.findings.end(),
                      [&](const Finding& found) { return found.check == fault.check; }));
    CHECK_THAT(report.text(), Catch::Matchers::ContainsSubstring(fault.place));
    CHECK_THAT(report.text(), Catch::Matchers::ContainsSubstring("tma_gemm.cu:"));
  }
}

}  // namespace
}  // namespace recto::ptx
