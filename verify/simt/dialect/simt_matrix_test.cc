#include "verify/simt/dialect/simt_matrix.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/simt/dialect/testdata/matrix_kernels.cuh"

namespace recto::simt {
namespace {

using Catch::Matchers::ContainsSubstring;

template <typename... Parameters, typename... Arguments>
LaunchReport run_warp(void (*kernel)(Parameters...), Arguments... arguments) {
  Executor executor({.schedule = {.policy = SchedulePolicy::kRandomThread, .seed = 5}});
  return launch(executor, {.kernel = "warp", .grid = {1}, .block = {32}}, kernel, arguments...);
}

// Element number e of row r, column c of matrix m: all different.
std::vector<unsigned short> numbered_matrices(int count) {
  std::vector<unsigned short> matrices;
  for (int i = 0; i < count * 64; ++i) matrices.push_back(static_cast<unsigned short>(i + 1000));
  return matrices;
}

unsigned short numbered(int matrix, int row, int column) {
  return static_cast<unsigned short>(1000 + matrix * 64 + row * 8 + column);
}

// The PTX ISA's tables (matrix fragments for mma.m16n8k16 and .m16n8k8 with .f16 and .bf16), as it
// writes them: element i of a lane, with groupID = lane >> 2 and threadID_in_group = lane % 4.
struct Cell {
  int row = 0;
  int column = 0;
};

Cell cell_of_a(MatrixShape shape, int lane, int i) {
  const int group = lane >> 2;
  const int in_group = lane % 4;
  if (shape == MatrixShape::kM16n8k8) {
    return {i < 2 ? group : group + 8, in_group * 2 + (i & 1)};
  }
  const bool is_upper = (0 <= i && i < 2) || (4 <= i && i < 6);
  const int column = in_group * 2 + (i & 1);
  return {is_upper ? group : group + 8, i < 4 ? column : column + 8};
}

Cell cell_of_b(MatrixShape shape, int lane, int i) {
  const int group = lane >> 2;
  const int in_group = lane % 4;
  if (shape == MatrixShape::kM16n8k8) return {in_group * 2 + i, group};
  const int row = in_group * 2 + (i & 1);
  return {i < 2 ? row : row + 8, group};
}

Cell cell_of_sum(int lane, int i) {
  return {i < 2 ? lane >> 2 : (lane >> 2) + 8, lane % 4 * 2 + (i & 1)};
}

int depth_of(MatrixShape shape) { return shape == MatrixShape::kM16n8k16 ? 16 : 8; }

// Fragments of a whole warp with one element set.
struct Warp {
  std::array<unsigned, 32 * 4> a = {};
  std::array<unsigned, 32 * 2> b = {};
  std::array<float, 32 * 4> sum = {};

  void set_a(int lane, int i, unsigned code) {
    a[static_cast<std::size_t>(lane * 4 + i / 2)] |= code << i % 2 * 16;
  }
  void set_b(int lane, int i, unsigned code) {
    b[static_cast<std::size_t>(lane * 2 + i / 2)] |= code << i % 2 * 16;
  }
};

template <typename T>
unsigned code_of(int value) {
  if constexpr (std::is_same_v<T, __half>) return __half_as_ushort(__half(value));
  return __bfloat16_as_ushort(__nv_bfloat16(static_cast<float>(value)));
}

// Multiplies, and adds the product to distinct initial sums. Returns the number of elements that
// are not what `product` gives for their cell.
template <typename T, typename Product>
int misplaced_in_sum(MatrixShape shape, Warp& warp, const Product& product) {
  const auto before = [](const Cell& cell) { return 1000 + 8 * cell.row + cell.column; };
  for (int at = 0; at < 32 * 4; ++at) {
    warp.sum[static_cast<std::size_t>(at)] =
        static_cast<float>(before(cell_of_sum(at / 4, at % 4)));
  }
  const auto multiply = std::is_same_v<T, __half> ? multiply_half : multiply_bfloat16;
  run_warp(multiply, shape, warp.a.data(), warp.b.data(), warp.sum.data());
  int wrong = 0;
  for (int at = 0; at < 32 * 4; ++at) {
    const Cell cell = cell_of_sum(at / 4, at % 4);
    const auto expected = static_cast<float>(before(cell) + product(cell));
    if (warp.sum[static_cast<std::size_t>(at)] != expected) ++wrong;
  }
  return wrong;
}

// One element of a at a time, and all of b: only products in the table's row are nonzero, and their
// values identify the column.
template <typename T>
int misplaced_in_a(MatrixShape shape) {
  int wrong = 0;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < depth_of(shape) / 2; ++i) {
      Warp warp;
      warp.set_a(lane, i, code_of<T>(1));
      // b[k][n] = 1 + 16 n + k: all different, and exact in both types.
      for (int other = 0; other < 32; ++other) {
        for (int j = 0; j < depth_of(shape) / 4; ++j) {
          const Cell cell = cell_of_b(shape, other, j);
          warp.set_b(other, j, code_of<T>(1 + 16 * cell.column + cell.row));
        }
      }
      const Cell set = cell_of_a(shape, lane, i);
      wrong += misplaced_in_sum<T>(shape, warp, [&](const Cell& cell) {
        return cell.row == set.row ? 1 + 16 * cell.column + set.column : 0;
      });
    }
  }
  return wrong;
}

// The same with one element of b and all of a.
template <typename T>
int misplaced_in_b(MatrixShape shape) {
  int wrong = 0;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < depth_of(shape) / 4; ++i) {
      Warp warp;
      warp.set_b(lane, i, code_of<T>(1));
      // a[m][k] = 1 + 16 k + m.
      for (int other = 0; other < 32; ++other) {
        for (int j = 0; j < depth_of(shape) / 2; ++j) {
          const Cell cell = cell_of_a(shape, other, j);
          warp.set_a(other, j, code_of<T>(1 + 16 * cell.column + cell.row));
        }
      }
      const Cell set = cell_of_b(shape, lane, i);
      wrong += misplaced_in_sum<T>(shape, warp, [&](const Cell& cell) {
        return cell.column == set.column ? 1 + 16 * set.row + cell.row : 0;
      });
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("ldmatrix gives each lane its two elements of each matrix") {
  for (const int count : {1, 2, 4}) {
    std::vector<unsigned> out(32 * 4);
    const LaunchReport report =
        run_warp(load_plain, numbered_matrices(count).data(), count, out.data());
    REQUIRE(report.text().empty());
    for (int lane = 0; lane < 32; ++lane) {
      for (int matrix = 0; matrix < count; ++matrix) {
        CAPTURE(count, lane, matrix);
        const unsigned low = numbered(matrix, lane / 4, 2 * (lane % 4));
        const unsigned high = numbered(matrix, lane / 4, 2 * (lane % 4) + 1);
        CHECK(out[static_cast<std::size_t>(lane * 4 + matrix)] == (low | high << 16));
      }
    }
  }
}

TEST_CASE("ldmatrix.trans gives each lane two elements of a column") {
  for (const int count : {1, 2, 4}) {
    std::vector<unsigned> out(32 * 4);
    const LaunchReport report =
        run_warp(load_transposed, numbered_matrices(count).data(), count, out.data());
    REQUIRE(report.text().empty());
    for (int lane = 0; lane < 32; ++lane) {
      for (int matrix = 0; matrix < count; ++matrix) {
        CAPTURE(count, lane, matrix);
        const unsigned low = numbered(matrix, 2 * (lane % 4), lane / 4);
        const unsigned high = numbered(matrix, 2 * (lane % 4) + 1, lane / 4);
        CHECK(out[static_cast<std::size_t>(lane * 4 + matrix)] == (low | high << 16));
      }
    }
  }
}

TEST_CASE("each element of a and b is in the register of the PTX ISA's tables") {
  for (const MatrixShape shape : {MatrixShape::kM16n8k16, MatrixShape::kM16n8k8}) {
    INFO("depth " << depth_of(shape));
    CHECK(misplaced_in_a<__half>(shape) == 0);
    CHECK(misplaced_in_a<__nv_bfloat16>(shape) == 0);
    CHECK(misplaced_in_b<__half>(shape) == 0);
    CHECK(misplaced_in_b<__nv_bfloat16>(shape) == 0);
  }
}

TEST_CASE("a product of whole matrices is that of a plain loop") {
  RandomStream random(3);
  std::vector<__half> a(256);
  std::vector<__half> b(128);
  // Small integers, so that every order of summation gives the same result.
  for (__half& x : a) x = __half(static_cast<int>(random.next_below(65)) - 32);
  for (__half& x : b) x = __half(static_cast<int>(random.next_below(65)) - 32);
  std::vector<float> product(128);
  const LaunchReport report = run_warp(multiply_matrices, a.data(), b.data(), product.data());
  REQUIRE(report.text().empty());
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      float expected = 0;
      for (std::size_t k = 0; k < 16; ++k)
        expected += float{a[row * 16 + k]} * float{b[k * 8 + column]};
      CHECK(product[row * 8 + column] == expected);
    }
  }
}

TEST_CASE("invalid ldmatrix addresses and missing lanes are found") {
  std::array<unsigned, 32> out = {};
  const auto text = [&](MatrixFault fault) {
    return run_warp(load_wrongly, fault, out.data()).text();
  };
  CHECK_THAT(text(MatrixFault::kMisalignedRow),
             ContainsSubstring("misaligned") && ContainsSubstring("thread 3") &&
                 ContainsSubstring("load_matrix_x1 with tile+8, which is not a multiple of 16"));
  CHECK_THAT(text(MatrixFault::kGlobalRow), ContainsSubstring("which is not in shared memory"));
  CHECK_THAT(text(MatrixFault::kRowBeyond),
             ContainsSubstring("out of bounds") && ContainsSubstring("16 bytes at tile+128"));
  CHECK_THAT(
      text(MatrixFault::kMissingLanes),
      ContainsSubstring("warp mask") && ContainsSubstring("only lanes 0x0000ffff are present"));
}

TEST_CASE("lanes that load or multiply matrices in two branches are reported with both places") {
  std::array<unsigned, 32> loaded = {};
  std::array<float, 32> products = {};
  for (const LaunchReport& report : {run_warp(load_in_branches, loaded.data()),
                                     run_warp(multiply_in_branches, products.data())}) {
    REQUIRE(report.findings.size() == 1);
    const Finding& finding = report.findings[0];
    CHECK(finding.check == Check::kBarrierDivergence);
    CHECK(std::abs(finding.place.site.line - finding.other_place.site.line) == 2);
    CHECK_THAT(finding.text(),
               ContainsSubstring("matrix_kernels.cu:") &&
                   ContainsSubstring("which all lanes of a warp must call at the same place"));
  }
}

}  // namespace recto::simt
