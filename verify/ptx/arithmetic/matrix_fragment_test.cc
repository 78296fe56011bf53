#include "verify/ptx/arithmetic/matrix_fragment.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::ptx {
namespace {

// The formulas of the ISA, for a group (lane / 4), a thread in the group (lane % 4) and element i.
struct Fragment {
  const char* name;
  int depth;
  int bits;
  int a_elements;
  int b_elements;
  MatrixPlace (*a)(int group, int thread, int i);
  MatrixPlace (*b)(int group, int thread, int i);
};

const std::vector<Fragment> kFragments = {
    {"m16n8k4 tf32", 4, 32, 2, 1,
     [](int g, int t, int i) {
       return MatrixPlace{i == 0 ? g : g + 8, t};
     },
     [](int g, int t, int) {
       return MatrixPlace{t, g};
     }},
    {"m16n8k8 tf32", 8, 32, 4, 2,
     [](int g, int t, int i) {
       return MatrixPlace{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
     },
     [](int g, int t, int i) {
       return MatrixPlace{i == 0 ? t : t + 4, g};
     }},
    {"m16n8k8 f16", 8, 16, 4, 2,
     [](int g, int t, int i) {
       return MatrixPlace{i < 2 ? g : g + 8, t * 2 + (i & 1)};
     },
     [](int g, int t, int i) {
       return MatrixPlace{t * 2 + i, g};
     }},
    {"m16n8k16 f16", 16, 16, 8, 4,
     [](int g, int t, int i) {
       const bool is_upper = i < 2 || (4 <= i && i < 6);
       return MatrixPlace{is_upper ? g : g + 8, i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8};
     },
     [](int g, int t, int i) {
       return MatrixPlace{i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g};
     }},
    {"m16n8k16 s8", 16, 8, 8, 4,
     [](int g, int t, int i) {
       return MatrixPlace{i < 4 ? g : g + 8, t * 4 + (i & 3)};
     },
     [](int g, int t, int i) {
       return MatrixPlace{t * 4 + i, g};
     }},
    {"m16n8k32 s8", 32, 8, 16, 8,
     [](int g, int t, int i) {
       const bool is_upper = i < 4 || (8 <= i && i < 12);
       return MatrixPlace{is_upper ? g : g + 8, i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16};
     },
     [](int g, int t, int i) {
       return MatrixPlace{i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g};
     }},
};

FragmentElement element(const Fragment& fragment, int lane, int i) {
  const int per_register = 32 / fragment.bits;
  return {fragment.bits, lane, i / per_register, i % per_register};
}

// Row r of matrix m is 100 (8 m + r), plus the column.
void fill(Matrix8x8& matrix, int m) {
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
      matrix[row][column] = static_cast<std::uint16_t>(100 * (8 * m + row) + column);
    }
  }
}

}  // namespace

TEST_CASE("fragments of factors are those of the ISA, element by element") {
  for (const Fragment& fragment : kFragments) {
    INFO(fragment.name);
    int wrong = 0;
    std::set<std::pair<int, int>> seen_a;
    std::set<std::pair<int, int>> seen_b;
    for (int lane = 0; lane < kFragmentLanes; ++lane) {
      for (int i = 0; i < fragment.a_elements; ++i) {
        const MatrixPlace place = a_place(element(fragment, lane, i));
        wrong += place != fragment.a(lane >> 2, lane % 4, i);
        seen_a.emplace(place.row, place.column);
      }
      for (int i = 0; i < fragment.b_elements; ++i) {
        const MatrixPlace place = b_place(element(fragment, lane, i));
        wrong += place != fragment.b(lane >> 2, lane % 4, i);
        seen_b.emplace(place.row, place.column);
      }
    }
    CHECK(wrong == 0);
    // Every element of the matrices is held once.
    CHECK(seen_a.size() == static_cast<std::size_t>(16 * fragment.depth));
    CHECK(seen_b.size() == static_cast<std::size_t>(8 * fragment.depth));
  }
}

TEST_CASE("the formulas distinguish shapes and registers") {
  const Fragment& half = kFragments[3];
  CHECK(a_place({16, 5, 1, 0}) != half.a(1, 1, 4));
  CHECK(a_place({16, 5, 1, 0}) == half.a(1, 1, 2));
}

TEST_CASE("fragments of sums are those of mma and wgmma") {
  // wgmma m64nN: row = group, + 8 for i % 4 >= 2; column = 8 (i / 4) + 2 thread + i % 2.
  std::set<std::pair<int, int>> seen;
  for (int lane = 0; lane < kFragmentLanes; ++lane) {
    for (int i = 0; i < 128; ++i) {
      const MatrixPlace place = sum_place(lane, i);
      const int row = (lane >> 2) + (i % 4 >= 2 ? 8 : 0);
      CHECK(place == MatrixPlace{row, (i >> 2) * 8 + (lane % 4) * 2 + (i & 1)});
      seen.emplace(place.row, place.column);
    }
  }
  CHECK(seen.size() == 16 * 256);
}

TEST_CASE(
    "lane 4 r + c of a loaded matrix holds columns 2 c and 2 c + 1 of row r, or of column r") {
  Matrix8x8 matrix;
  fill(matrix, 0);
  RegisterRow plain;
  RegisterRow transposed;
  load_fragment(matrix, MatrixOrder::kPlain, plain);
  load_fragment(matrix, MatrixOrder::kTransposed, transposed);
  for (std::uint32_t r = 0; r < 8; ++r) {
    for (std::uint32_t c = 0; c < 4; ++c) {
      const std::uint32_t lane = 4 * r + c;
      CHECK(plain[lane] == ((100 * r + 2 * c) | (100 * r + 2 * c + 1) << 16));
      CHECK(transposed[lane] == ((100 * (2 * c) + r) | (100 * (2 * c + 1) + r) << 16));
    }
  }
}

TEST_CASE("a stored fragment restores the loaded matrix") {
  Matrix8x8 matrix;
  fill(matrix, 3);
  for (const MatrixOrder order : {MatrixOrder::kPlain, MatrixOrder::kTransposed}) {
    RegisterRow fragment;
    load_fragment(matrix, order, fragment);
    Matrix8x8 stored;
    store_fragment(fragment, order, stored);
    CHECK(std::memcmp(stored, matrix, sizeof matrix) == 0);
    store_fragment(fragment,
                   order == MatrixOrder::kPlain ? MatrixOrder::kTransposed : MatrixOrder::kPlain,
                   stored);
    CHECK(stored[2][5] == matrix[5][2]);
  }
}

}  // namespace recto::ptx
