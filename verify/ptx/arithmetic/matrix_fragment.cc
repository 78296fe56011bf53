#include "verify/ptx/arithmetic/matrix_fragment.h"

namespace recto::ptx {

void load_fragment(const Matrix8x8& matrix, MatrixOrder order, RegisterRow& fragment) {
  for (int lane = 0; lane < kFragmentLanes; ++lane) {
    const MatrixPlace low = matrix_place(lane, 0, order);
    const MatrixPlace high = matrix_place(lane, 1, order);
    fragment[lane] = matrix[low.row][low.column] |
                     static_cast<std::uint32_t>(matrix[high.row][high.column]) << 16;
  }
}

void store_fragment(const RegisterRow& fragment, MatrixOrder order, Matrix8x8& matrix) {
  for (int lane = 0; lane < kFragmentLanes; ++lane) {
    for (int half = 0; half < 2; ++half) {
      const MatrixPlace place = matrix_place(lane, half, order);
      matrix[place.row][place.column] = static_cast<std::uint16_t>(fragment[lane] >> 16 * half);
    }
  }
}

void transpose_fragment(const RegisterRow& from, RegisterRow& to) {
  Matrix8x8 matrix;
  store_fragment(from, MatrixOrder::kPlain, matrix);
  load_fragment(matrix, MatrixOrder::kTransposed, to);
}

}  // namespace recto::ptx
