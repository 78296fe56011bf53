#pragma once

// Which element of a matrix each lane's registers hold: PTX ISA, "Warp Level Matrix
// Multiply-Accumulate Instructions" (fragments of mma, ldmatrix, stmatrix) and
// "Asynchronous Warpgroup Level Matrix Instructions" (fragments of wgmma).

#include <cstdint>

namespace recto::ptx {

inline constexpr int kFragmentLanes = 32;

// One register of a warp: a word of each lane.
using RegisterRow = std::uint32_t[kFragmentLanes];

struct MatrixPlace {
  int row = 0;
  int column = 0;

  bool operator==(const MatrixPlace&) const = default;
};

// An element of a 32-bit register that holds several, from the lowest bits on.
struct FragmentElement {
  int element_bits = 16;  // 8, 16 or 32
  int lane = 0;
  int register_index = 0;
  int index = 0;
};

// One formula covers all mma.m16n8k* of elements of 8 bits and more, and the A of wgmma, in which
// warp w of the four holds rows 16 w to 16 w + 15. Eight groups of four lanes hold a row each; lane
// t of a group holds t's word of 16 bytes; registers follow in rows, then in columns.
constexpr MatrixPlace a_place(const FragmentElement& e) {
  const int per_word = 32 / e.element_bits;
  return {e.lane / 4 + e.register_index % 2 * 8,
          e.register_index / 2 * 4 * per_word + e.lane % 4 * per_word + e.index};
}

// Row is k, column is n.
constexpr MatrixPlace b_place(const FragmentElement& e) {
  const int per_word = 32 / e.element_bits;
  return {e.register_index * 4 * per_word + e.lane % 4 * per_word + e.index, e.lane / 4};
}

// Accumulator i of a lane, in mma and in wgmma, whose n is up to 256. Two f16 share a register.
constexpr MatrixPlace sum_place(int lane, int i) {
  return {lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2};
}

// --- ldmatrix and stmatrix -----------------------------------------------------------------------

enum class MatrixOrder : std::uint8_t { kPlain, kTransposed };

// A matrix of 8 x 8 elements of 16 bits, by rows.
using Matrix8x8 = std::uint16_t[8][8];

void load_fragment(const Matrix8x8& matrix, MatrixOrder order, RegisterRow& fragment);
void store_fragment(const RegisterRow& fragment, MatrixOrder order, Matrix8x8& matrix);

}  // namespace recto::ptx
