#include "verify/ptx/arithmetic/mma.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/ptx/arithmetic/rounding.h"

namespace recto::ptx {
namespace {

constexpr FactorType kFactorTypes[] = {FactorType::kF16,  FactorType::kBf16, FactorType::kTf32,
                                       FactorType::kE4m3, FactorType::kE5m2, FactorType::kS8,
                                       FactorType::kU8};
constexpr SumModel kModels[] = {{}, {.sum = MatrixSum::kTruncated}};

std::vector<MmaShape> supported_shapes() {
  std::vector<MmaShape> shapes;
  for (const FactorType a : kFactorTypes) {
    for (const FactorType b : kFactorTypes) {
      for (const SumType sum : {SumType::kF32, SumType::kF16, SumType::kS32}) {
        for (const int depth : {4, 8, 16, 32, 64}) {
          const MmaShape shape = {.depth = depth, .a = a, .b = b, .sum = sum};
          if (is_supported(shape)) shapes.push_back(shape);
        }
      }
    }
  }
  return shapes;
}

// Small integers are exact in every type.
std::uint32_t code_of(FactorType type, int x) {
  switch (type) {
    case FactorType::kF16:
      return narrowed<kF16>(x, {});
    case FactorType::kBf16:
      return narrowed<kBf16>(x, {});
    case FactorType::kTf32:
      return bits_of(static_cast<float>(x)) | 0x1234;  // the lower bits are ignored
    case FactorType::kE4m3:
      return narrowed<kE4m3>(x, {});
    case FactorType::kE5m2:
      return narrowed<kE5m2>(x, {});
    case FactorType::kS8:
    case FactorType::kU8:
      return static_cast<std::uint32_t>(x) & 0xff;
  }
  return 0;
}

int smallest_factor(FactorType type) { return type == FactorType::kU8 ? 0 : -3; }

// Matrices of small integers, and the registers that hold them.
struct Example {
  MmaShape shape;
  int a[16][32] = {};
  int b[32][8] = {};
  int c[16][8] = {};
  RegisterRow a_row[4] = {};
  RegisterRow b_row[2] = {};
  RegisterRow c_row[4] = {};

  Example(const MmaShape& of, std::uint64_t seed) : shape(of) {
    RandomStream random(seed);
    const auto next = [&](int smallest) {
      return smallest +
             static_cast<int>(random.next_below(static_cast<std::uint64_t>(4 - smallest)));
    };
    for (auto& row : a) {
      for (int& x : row) x = next(smallest_factor(shape.a));
    }
    for (auto& row : b) {
      for (int& x : row) x = next(smallest_factor(shape.b));
    }
    for (auto& row : c) {
      for (int& x : row) x = next(-3);
    }
    place();
  }

  int expected(int row, int column) const {
    int sum = c[row][column];
    for (int k = 0; k < shape.depth; ++k) sum += a[row][k] * b[k][column];
    return sum;
  }

  void place() {
    const int bits = element_bits(shape.a);
    for (int lane = 0; lane < kFragmentLanes; ++lane) {
      for (int i = 0; i < 32 / bits; ++i) {
        for (int r = 0; r < shape.a_registers(); ++r) {
          const MatrixPlace at = a_place({bits, lane, r, i});
          a_row[r][lane] |= code_of(shape.a, a[at.row][at.column]) << i * bits % 32;
        }
        for (int r = 0; r < shape.b_registers(); ++r) {
          const MatrixPlace at = b_place({bits, lane, r, i});
          b_row[r][lane] |= code_of(shape.b, b[at.row][at.column]) << i * bits % 32;
        }
      }
      for (int i = 0; i < 4; ++i) set_sum(lane, i);
    }
  }

  void set_sum(int lane, int i) {
    const MatrixPlace at = sum_place(lane, i);
    const int x = c[at.row][at.column];
    if (shape.sum == SumType::kF16) {
      c_row[i / 2][lane] |= narrowed<kF16>(x, {}) << i % 2 * 16;
    } else {
      c_row[i][lane] = shape.sum == SumType::kF32 ? bits_of(static_cast<float>(x))
                                                  : static_cast<std::uint32_t>(x);
    }
  }

  double result(int lane, int i) const {
    if (shape.sum == SumType::kF16) return widened<kF16>(c_row[i / 2][lane] >> i % 2 * 16 & 0xffff);
    if (shape.sum == SumType::kF32) return float_of(c_row[i][lane]);
    return static_cast<std::int32_t>(c_row[i][lane]);
  }

  int wrong_results() const {
    int wrong = 0;
    for (int lane = 0; lane < kFragmentLanes; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const MatrixPlace at = sum_place(lane, i);
        wrong += result(lane, i) != expected(at.row, at.column);
      }
    }
    return wrong;
  }

  void run(const SumModel& model) { mma(shape, {a_row, b_row, c_row, c_row}, model); }
};

}  // namespace

TEST_CASE("every supported shape multiplies matrices, in both models") {
  const std::vector<MmaShape> shapes = supported_shapes();
  // f16: 2 depths, 2 sums; bf16, tf32: 2 depths; fp8: 4 pairs, 2 depths, 2 sums; integers: 4 pairs,
  // 2 depths.
  CHECK(shapes.size() == 4 + 2 + 2 + 16 + 8);
  for (const MmaShape& shape : shapes) {
    for (const SumModel& model : kModels) {
      INFO("depth " << shape.depth << ", types " << static_cast<int>(shape.a) << ' '
                    << static_cast<int>(shape.b) << ' ' << static_cast<int>(shape.sum));
      Example example(shape, 1);
      CHECK(example.wrong_results() > 50);
      example.run(model);
      CHECK(example.wrong_results() == 0);
    }
  }
}

TEST_CASE("a swapped register gives other sums") {
  Example example({}, 2);
  std::swap(example.a_row[1], example.a_row[2]);
  example.run({});
  CHECK(example.wrong_results() > 50);
}

TEST_CASE("factors of mixed 16-bit types, and other types' sums and depths, are refused") {
  CHECK_FALSE(is_supported({.a = FactorType::kF16, .b = FactorType::kBf16}));
  CHECK_FALSE(is_supported({.a = FactorType::kS8, .b = FactorType::kS8}));
  CHECK_FALSE(is_supported({.a = FactorType::kBf16, .b = FactorType::kBf16, .sum = SumType::kF16}));
  CHECK_FALSE(is_supported({.depth = 32}));
  CHECK(is_supported({.depth = 16}));
  CHECK(is_supported({.depth = 32, .a = FactorType::kE4m3, .b = FactorType::kE5m2}));
}

TEST_CASE("integer sums wrap, or stop at the limits with .satfinite") {
  for (const bool satfinite : {false, true}) {
    MmaShape shape = {
        .depth = 16, .a = FactorType::kU8, .b = FactorType::kS8, .sum = SumType::kS32};
    shape.satfinite = satfinite;
    RegisterRow a[2];
    RegisterRow b[1];
    RegisterRow c[4];
    for (int lane = 0; lane < kFragmentLanes; ++lane) {
      a[0][lane] = a[1][lane] = 0xffffffff;              // 255
      b[0][lane] = lane < 16 ? 0x7f7f7f7f : 0x80808080;  // 127, or -128 in columns from 4
      c[0][lane] = c[1][lane] = 0x7ffffff0;
      c[2][lane] = c[3][lane] = 0x80000010;
    }
    mma(shape, {a, b, c, c}, {});
    const auto wrapped = [](std::int64_t x) { return static_cast<std::uint32_t>(x); };
    const std::int64_t product = 16 * 255 * 127;
    const std::int64_t negative = 16 * 255 * -128;
    // Lane 0 holds columns 0 and 1, lane 2 columns 4 and 5.
    CHECK(c[0][0] == (satfinite ? 0x7fffffff : wrapped(0x7ffffff0 + product)));
    CHECK(c[0][2] == wrapped(0x7ffffff0 + negative));
    CHECK(c[2][0] == wrapped(std::numeric_limits<std::int32_t>::min() + 16 + product));
    CHECK(c[2][2] == (satfinite ? 0x80000000 : wrapped(std::int64_t{-0x7ffffff0} + negative)));
  }
}

TEST_CASE("f16 sums are rounded once, from fp32 sums") {
  Example example({.sum = SumType::kF16}, 3);
  // 2048 + 1 is half-way between f16 numbers, 2048 + 1 + 1 is one.
  for (auto& row : example.a_row) {
    for (auto& word : row) word = 0x3c003c00;
  }
  for (auto& row : example.b_row) {
    for (auto& word : row) word = 0;
  }
  for (int lane = 0; lane < kFragmentLanes; ++lane) {
    example.b_row[0][lane] = lane % 4 == 0 ? 0x00003c00 : 0;
    example.b_row[1][lane] = lane == 0 ? 0x00003c00 : 0;
    example.c_row[0][lane] = 0x68006800;
  }
  example.run({});
  CHECK(example.c_row[0][0] == 0x68006801);
}

}  // namespace recto::ptx
