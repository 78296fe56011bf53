#include "verify/ptx/arithmetic/wgmma.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/ptx/arithmetic/rounding.h"

namespace recto::ptx {
namespace {

std::uint32_t code_of(FactorType type, int x) {
  switch (type) {
    case FactorType::kF16:
      return narrowed<kF16>(x, {});
    case FactorType::kBf16:
      return narrowed<kBf16>(x, {});
    case FactorType::kTf32:
      return bits_of(static_cast<float>(x)) | 0x1abc;  // the lower bits are ignored
    case FactorType::kE4m3:
      return narrowed<kE4m3>(x, {});
    default:
      return narrowed<kE5m2>(x, {});
  }
}

enum class PlaceOfA { kRegisters, kShared };

struct Layout {
  Major a = Major::kK;
  Major b = Major::kK;
  Swizzle swizzle = Swizzle::k128Bytes;
  PlaceOfA place_of_a = PlaceOfA::kShared;
};

// A warpgroup's product of small integers, whose factors lie in shared memory.
class Example {
 public:
  Example(const WgmmaShape& shape, const Layout& layout) : shape_(shape), layout_(layout) {
    RandomStream random(1);
    const auto next = [&] { return static_cast<int>(random.next_below(7)) - 3; };
    a_.resize(static_cast<std::size_t>(64 * shape.depth()));
    b_.resize(static_cast<std::size_t>(shape.depth() * shape.columns));
    d_.resize(static_cast<std::size_t>(64 * shape.columns));
    for (auto* matrix : {&a_, &b_, &d_}) {
      for (int& x : *matrix) x = next();
    }
    place_a_in_registers();
    a_pieces_ = collected(layout.a, shape.a, 64,
                          [&](int m, int k) { return a_[index(m, k, shape_.depth())]; });
    b_pieces_ = collected(layout.b, shape.b, shape.columns,
                          [&](int n, int k) { return b_[index(k, n, shape_.columns)]; });
    d_rows_.resize(static_cast<std::size_t>(4 * shape.d_registers() * kFragmentLanes));
    for_each_sum([&](std::uint32_t& word, int i, int x) {
      if (shape_.sum == SumType::kF32) {
        word = bits_of(static_cast<float>(x));
      } else {
        word |= narrowed<kF16>(x, {}) << i % 2 * 16;
      }
    });
  }

  int wrong_results(const SumModel& model) {
    WgmmaNumbers b;
    widen_b(shape_, {b_pieces_.data(), layout_.b}, b);
    for (int warp = 0; warp < 4; ++warp) {
      WgmmaOperands operands = {.a = {a_pieces_.data(), layout_.a}, .b = b, .d = d(warp)};
      if (layout_.place_of_a == PlaceOfA::kRegisters) operands.a_registers = a_rows_[warp];
      wgmma(shape_, operands, warp, model);
    }
    int wrong = 0;
    for_each_sum([&](std::uint32_t& word, int i, int) {
      const float result =
          shape_.sum == SumType::kF32 ? float_of(word) : widened<kF16>(word >> i % 2 * 16 & 0xffff);
      wrong += result != static_cast<float>(expected_);
    });
    return wrong;
  }

 private:
  static std::size_t index(int row, int column, int columns) {
    return static_cast<std::size_t>(row * columns + column);
  }
  RegisterRow* d(int warp) {
    return reinterpret_cast<RegisterRow*>(d_rows_.data()) + warp * shape_.d_registers();
  }

  // Writes a matrix to shared memory element by element, and reads its pieces in order.
  template <typename Element>
  std::vector<std::byte> collected(Major major, FactorType type, int mn_count, Element element) {
    const int bytes = element_bits(type) / 8;
    const int per_piece = 16 / bytes;
    // Line patterns one after another; in an unswizzled matrix, pieces of 8 lines.
    const std::uint32_t width = swizzle_bytes(layout_.swizzle);
    SharedMatrix matrix = {.start = 1024, .stride_bytes = 8 * width, .swizzle = layout_.swizzle};
    matrix.leading_bytes = layout_.swizzle == Swizzle::kNone ? 8192 : 4096;
    std::vector<std::byte> memory(1 << 16);
    const auto address = [&](int mn, int k) {
      const int along = major == Major::kK ? k : mn;
      return piece_address(matrix, major, static_cast<std::uint32_t>(major == Major::kK ? mn : k),
                           static_cast<std::uint32_t>(along / per_piece)) +
             static_cast<std::uint32_t>(along % per_piece * bytes);
    };
    for (int mn = 0; mn < mn_count; ++mn) {
      for (int k = 0; k < shape_.depth(); ++k) {
        const std::uint32_t code = code_of(type, element(mn, k));
        std::memcpy(memory.data() + address(mn, k), &code, static_cast<std::size_t>(bytes));
      }
    }
    const int lines = major == Major::kK ? mn_count : shape_.depth();
    const int pieces = major == Major::kK ? 2 : mn_count / 8;
    std::vector<std::byte> result(static_cast<std::size_t>(lines * pieces * 16));
    for (int line = 0; line < lines; ++line) {
      for (int piece = 0; piece < pieces; ++piece) {
        std::memcpy(result.data() + 16 * (line * pieces + piece),
                    memory.data() + piece_address(matrix, major, static_cast<std::uint32_t>(line),
                                                  static_cast<std::uint32_t>(piece)),
                    16);
      }
    }
    return result;
  }

  void place_a_in_registers() {
    const int bits = element_bits(shape_.a);
    for (int warp = 0; warp < 4; ++warp) {
      for (int r = 0; r < 4; ++r) {
        for (int lane = 0; lane < kFragmentLanes; ++lane) {
          for (int i = 0; i < 32 / bits; ++i) {
            const MatrixPlace at = a_place({bits, lane, r, i});
            a_rows_[warp][r][lane] |=
                code_of(shape_.a, a_[index(16 * warp + at.row, at.column, shape_.depth())])
                << i * bits % 32;
          }
        }
      }
    }
  }

  // Calls with the word of each sum, and sets expected_.
  template <typename Visit>
  void for_each_sum(Visit visit) {
    for (int warp = 0; warp < 4; ++warp) {
      for (int lane = 0; lane < kFragmentLanes; ++lane) {
        for (int i = 0; i < shape_.columns / 2; ++i) {
          const MatrixPlace at = sum_place(lane, i);
          const int row = 16 * warp + at.row;
          const int before = d_[index(row, at.column, shape_.columns)];
          int product = 0;
          for (int k = 0; k < shape_.depth(); ++k) {
            product += a_[index(row, k, shape_.depth())] * b_[index(k, at.column, shape_.columns)];
          }
          const bool is_negated = shape_.sign_a != shape_.sign_b;
          expected_ = (is_negated ? -product : product) + (shape_.adds ? before : 0);
          visit(d(warp)[shape_.sum == SumType::kF16 ? i / 2 : i][lane], i, before);
        }
      }
    }
  }

  WgmmaShape shape_;
  Layout layout_;
  std::vector<int> a_;
  std::vector<int> b_;
  std::vector<int> d_;
  RegisterRow a_rows_[4][4] = {};
  std::vector<std::byte> a_pieces_;
  std::vector<std::byte> b_pieces_;
  std::vector<std::uint32_t> d_rows_;
  int expected_ = 0;
};

constexpr SumModel kModels[] = {{}, {.sum = MatrixSum::kTruncated}};

}  // namespace

TEST_CASE("a warpgroup multiplies matrices of every type, from registers and shared memory") {
  for (const FactorType type : {FactorType::kF16, FactorType::kBf16, FactorType::kTf32,
                                FactorType::kE4m3, FactorType::kE5m2}) {
    for (const int columns : {8, 24, 64}) {
      for (const PlaceOfA place : {PlaceOfA::kRegisters, PlaceOfA::kShared}) {
        for (const SumModel& model : kModels) {
          INFO("type " << static_cast<int>(type) << ", columns " << columns);
          Example example({.columns = columns, .a = type, .b = type}, {.place_of_a = place});
          CHECK(example.wrong_results(model) == 0);
        }
      }
    }
  }
  Example widest({.columns = 256}, {});
  CHECK(widest.wrong_results({}) == 0);
  Example mixed(
      {.columns = 16, .a = FactorType::kE4m3, .b = FactorType::kE5m2, .sum = SumType::kF16}, {});
  CHECK(mixed.wrong_results({}) == 0);
}

TEST_CASE("factors may be transposed, in every swizzling mode") {
  for (const Swizzle swizzle :
       {Swizzle::kNone, Swizzle::k32Bytes, Swizzle::k64Bytes, Swizzle::k128Bytes}) {
    for (const Major a : {Major::kK, Major::kMn}) {
      for (const Major b : {Major::kK, Major::kMn}) {
        INFO("swizzle " << static_cast<int>(swizzle) << ", majors " << static_cast<int>(a)
                        << static_cast<int>(b));
        Example example({.columns = 64}, {.a = a, .b = b, .swizzle = swizzle});
        CHECK(example.wrong_results({}) == 0);
      }
    }
  }
}

TEST_CASE("factors may be negated, and sums begin with 0") {
  for (const FactorSign a : {FactorSign::kPlus, FactorSign::kMinus}) {
    for (const FactorSign b : {FactorSign::kPlus, FactorSign::kMinus}) {
      Example example(
          {.columns = 16, .sum = SumType::kF16, .sign_a = a, .sign_b = b, .adds = a == b}, {});
      CHECK(example.wrong_results({}) == 0);
    }
  }
}

TEST_CASE("shapes and types that the ISA lacks are refused") {
  CHECK(is_supported({.columns = 256}));
  CHECK_FALSE(is_supported({.columns = 264}));
  CHECK_FALSE(is_supported({.columns = 12}));
  CHECK_FALSE(is_supported({.a = FactorType::kF16, .b = FactorType::kBf16}));
  CHECK_FALSE(is_supported({.a = FactorType::kBf16, .b = FactorType::kBf16, .sum = SumType::kF16}));
  CHECK_FALSE(is_supported({.a = FactorType::kS8, .b = FactorType::kS8, .sum = SumType::kS32}));
}

}  // namespace recto::ptx
