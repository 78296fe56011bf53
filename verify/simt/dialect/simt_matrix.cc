#include "verify/simt/dialect/simt_matrix.h"

#include "verify/simt/dialect/matrix_product.h"
#include "verify/simt/dialect/simt_taint.h"

namespace recto::simt::device {
namespace {

MatrixLoad& load_of(void* const* payloads, unsigned lane) {
  return *static_cast<MatrixLoad*>(payloads[lane]);
}

std::uint32_t element_of(const MatrixRow& row, unsigned column) {
  return row[column / 2] >> column % 2 * 16 & 0xffff;
}

template <unsigned kCount>
void combine_matrices(void* const* payloads, std::uint32_t mask) {
  require_whole_warp(mask);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    for (unsigned i = 0; i < kCount; ++i) {
      load_of(payloads, lane).fragment[i] = load_of(payloads, 8 * i + lane / 4).row[lane % 4];
    }
  }
}

template <unsigned kCount>
void combine_transposed(void* const* payloads, std::uint32_t mask) {
  require_whole_warp(mask);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    for (unsigned i = 0; i < kCount; ++i) {
      const unsigned first_row = 8 * i + 2 * (lane % 4);
      const unsigned column = lane / 4;
      load_of(payloads, lane).fragment[i] = element_of(load_of(payloads, first_row).row, column) |
                                            element_of(load_of(payloads, first_row + 1).row, column)
                                                << 16;
    }
  }
}

const FragmentProduct& product_of(void* const* payloads, unsigned lane) {
  return *static_cast<const FragmentProduct*>(payloads[lane]);
}

template <HalfType T>
float lower(std::uint32_t word) {
  return with_code<T>(word & 0xffff);
}
template <HalfType T>
float upper(std::uint32_t word) {
  return with_code<T>(word >> 16);
}

// A product in which a sum is tainted if its row of a, its column of b or its old value was. (The
// arithmetic itself is not compiled for taint: it branches.)
void multiply_accumulate_tainted(MatrixProduct& product) {
#ifdef RECTO_SIMT_MSAN
  for (int column = 0; column < kMatrixColumns; ++column) {
    bool is_column_tainted = false;
    for (int k = 0; k < product.depth; ++k) is_column_tainted |= is_tainted(product.b[k][column]);
    for (int row = 0; row < kMatrixRows; ++row) {
      float& sum = product.sum[row][column];
      if (is_column_tainted || is_tainted(product.a[row]) || is_tainted(sum)) set_tainted(sum);
    }
  }
#endif
  multiply_accumulate(product, arithmetic());
}

template <HalfType T, int kDepth>
void combine_product(void* const* payloads, std::uint32_t mask) {
  require_whole_warp(mask);
  MatrixProduct product;
  product.depth = kDepth;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const FragmentProduct& own = product_of(payloads, lane);
    const unsigned group = lane / 4;
    const unsigned pair = lane % 4 * 2;
    for (unsigned i = 0; i < kDepth / 4; ++i) {
      float* row = product.a[group + i % 2 * 8] + i / 2 * 8 + pair;
      row[0] = lower<T>(own.a[i]);
      row[1] = upper<T>(own.a[i]);
    }
    for (unsigned i = 0; i < kDepth / 8; ++i) {
      product.b[8 * i + pair][group] = lower<T>(own.b[i]);
      product.b[8 * i + pair + 1][group] = upper<T>(own.b[i]);
    }
    for (unsigned i = 0; i < 4; ++i) {
      product.sum[group + i / 2 * 8][pair + i % 2] = own.sum[i];
    }
  }
  multiply_accumulate_tainted(product);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const FragmentProduct& own = product_of(payloads, lane);
    for (unsigned i = 0; i < 4; ++i) {
      own.sum[i] = product.sum[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
    }
  }
}

}  // namespace

void combine_matrix_x1(void* const* payloads, std::uint32_t mask) {
  combine_matrices<1>(payloads, mask);
}
void combine_matrix_x2(void* const* payloads, std::uint32_t mask) {
  combine_matrices<2>(payloads, mask);
}
void combine_matrix_x4(void* const* payloads, std::uint32_t mask) {
  combine_matrices<4>(payloads, mask);
}
void combine_transposed_x1(void* const* payloads, std::uint32_t mask) {
  combine_transposed<1>(payloads, mask);
}
void combine_transposed_x2(void* const* payloads, std::uint32_t mask) {
  combine_transposed<2>(payloads, mask);
}
void combine_transposed_x4(void* const* payloads, std::uint32_t mask) {
  combine_transposed<4>(payloads, mask);
}

void combine_half_m16n8k16(void* const* payloads, std::uint32_t mask) {
  combine_product<__half, 16>(payloads, mask);
}
void combine_half_m16n8k8(void* const* payloads, std::uint32_t mask) {
  combine_product<__half, 8>(payloads, mask);
}
void combine_bfloat16_m16n8k16(void* const* payloads, std::uint32_t mask) {
  combine_product<__nv_bfloat16, 16>(payloads, mask);
}
void combine_bfloat16_m16n8k8(void* const* payloads, std::uint32_t mask) {
  combine_product<__nv_bfloat16, 8>(payloads, mask);
}

}  // namespace recto::simt::device
