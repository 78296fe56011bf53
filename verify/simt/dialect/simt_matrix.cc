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

}  // namespace

template <unsigned kCount, MatrixOrder kOrder>
void combine_matrices(void* const* payloads, std::uint32_t mask) {
  require_whole_warp(mask);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    for (unsigned i = 0; i < kCount; ++i) {
      const auto row = [&](unsigned number) { return load_of(payloads, 8 * i + number).row; };
      std::uint32_t& fragment = load_of(payloads, lane).fragment[i];
      if constexpr (kOrder == MatrixOrder::kTransposed) {
        const unsigned first = 2 * (lane % 4);
        fragment = element_of(row(first), lane / 4) | element_of(row(first + 1), lane / 4) << 16;
      } else {
        fragment = row(lane / 4)[lane % 4];
      }
    }
  }
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

template void combine_matrices<1, MatrixOrder::kPlain>(void* const*, std::uint32_t);
template void combine_matrices<2, MatrixOrder::kPlain>(void* const*, std::uint32_t);
template void combine_matrices<4, MatrixOrder::kPlain>(void* const*, std::uint32_t);
template void combine_matrices<1, MatrixOrder::kTransposed>(void* const*, std::uint32_t);
template void combine_matrices<2, MatrixOrder::kTransposed>(void* const*, std::uint32_t);
template void combine_matrices<4, MatrixOrder::kTransposed>(void* const*, std::uint32_t);
template void combine_product<__half, 16>(void* const*, std::uint32_t);
template void combine_product<__half, 8>(void* const*, std::uint32_t);
template void combine_product<__nv_bfloat16, 16>(void* const*, std::uint32_t);
template void combine_product<__nv_bfloat16, 8>(void* const*, std::uint32_t);

}  // namespace recto::simt::device
