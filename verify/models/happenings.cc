#include "verify/models/happenings.h"

#include <iomanip>

namespace recto::verify {

const char* happening_name(Happening happening) {
  constexpr std::array<const char*, kNumHappenings> kNames = {
      "evictions",
      "hits on live blocks",
      "hits on evictable blocks",
      "hits on pinned blocks",
      "hits behind a gap",
      "duplicates",
      "collisions",
      "evictions for a node",
      "commits without a free node",
      "commits that met too many items",
      "hits with keys",
      "hits with items",
      "copies on write",
      "copies of pinned blocks",
      "answers with two copies of a block",
      "divergences",
      "overwritten blocks",
      "tokens in room held ahead",
      "blocks given back by windows",
      "blocks given back by windows, shared",
      "forks of sequences with lookahead",
      "beams of one parent",
      "beams dropped",
      "truncates into a shared block",
      "truncates below what is published",
      "truncates refused by a window",
      "swaps out with sharing",
      "swaps out of blocks that others keep",
      "swaps in with sharing",
      "host blocks that come back twice",
      "swaps out of blocks that can be found",
      "releases during a swap out",
      "releases during a swap in",
      "resumes with a hit",
      "pins of live blocks",
      "pins of idle blocks",
      "pins of pinned blocks",
      "resets with live sequences",
      "resets with swapped sequences",
      "resets during a swap",
      "resets with pins",
      "commits after a reset",
      "full pools",
      "blocks used unevenly",
  };
  return kNames[static_cast<std::size_t>(happening)];
}

void Happenings::print(std::ostream& out) const {
  for (int i = 0; i < kNumHappenings; ++i) {
    const auto happening = static_cast<Happening>(i);
    out << std::setw(9) << times(happening) << ' ' << happening_name(happening) << '\n';
  }
  out << std::setw(9) << skipped_ << " commands that had nothing to act on\n"
      << "              ok  invalid exhausted\n";
  for (int i = 0; i < kNumCommandKinds; ++i) {
    const auto kind = static_cast<CommandKind>(i);
    out << std::left << std::setw(13) << command_kind_name(kind) << std::right;
    for (const StatusCode code :
         {StatusCode::kOk, StatusCode::kInvalidInput, StatusCode::kExhausted}) {
      out << std::setw(9) << answers(kind, code);
    }
    out << '\n';
  }
}

}  // namespace recto::verify
