#include "verify/ptx/checks/shadow_memory.h"

#include <utility>

namespace recto::ptx {

void ShadowMemory::forget() {
  for (Piece& piece : pieces_) {
    piece.cells.clear();
    piece.shift = Piece{}.shift;
  }
}

void ShadowMemory::divide(Piece& piece, unsigned shift) {
  if (!piece.cells.empty()) {
    std::vector<Cell> finer(kPieceBytes >> shift);
    for (std::size_t i = 0; i < finer.size(); ++i) {
      finer[i] = piece.cells[i >> (piece.shift - shift)];
    }
    piece.cells = std::move(finer);
  }
  piece.shift = static_cast<std::uint8_t>(shift);
}

}  // namespace recto::ptx
