#include "verify/ptx/arithmetic/matrix_fragment.h"

#include <bit>
#include <cstring>

namespace recto::ptx {

static_assert(std::endian::native == std::endian::little, "words are pairs of elements");
static_assert(sizeof(Matrix8x8) == sizeof(RegisterRow));

namespace {

using Line = std::uint16_t __attribute__((vector_size(16)));

// Moves element (row, column), whose index has six bits, to the index rotated by one bit.
void rotate(Line (&lines)[8]) {
  Line rotated[8];
  for (int i = 0; i < 4; ++i) {
    rotated[2 * i] = __builtin_shufflevector(lines[i], lines[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
    rotated[2 * i + 1] =
        __builtin_shufflevector(lines[i], lines[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
  }
  std::memcpy(lines, rotated, sizeof lines);
}

// In plain order, the words of the lanes are the matrix in memory order. Three rotations exchange
// rows and columns.
void copy_matrix(const void* from, MatrixOrder order, void* to) {
  Line lines[8];
  std::memcpy(lines, from, sizeof lines);
  if (order == MatrixOrder::kTransposed) {
    for (int i = 0; i < 3; ++i) rotate(lines);
  }
  std::memcpy(to, lines, sizeof lines);
}

}  // namespace

void load_fragment(const Matrix8x8& matrix, MatrixOrder order, RegisterRow& fragment) {
  copy_matrix(matrix, order, fragment);
}

void store_fragment(const RegisterRow& fragment, MatrixOrder order, Matrix8x8& matrix) {
  copy_matrix(fragment, order, matrix);
}

}  // namespace recto::ptx
