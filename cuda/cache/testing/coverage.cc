#include "cuda/cache/testing/coverage.h"

#include <iomanip>

#include "core/contract.h"

namespace recto::cache::testing {
namespace {

constexpr std::string_view kEvents[] = {
    "evictions",
    "hits on live blocks",       // held by another sequence
    "hits on evictable blocks",  // without a holder
    "hits on pinned blocks",     // without a holder
    "hits behind a gap",         // a window group has no block where the prefix begins
    "duplicates",                // blocks whose content can be found elsewhere
    "collisions",
    "evictions for a node",
    "commits without a free node",
    "commits that met too many items",
    "hits with keys",
    "hits with items",
    "copies on write",
    "copies of pinned blocks",  // without another holder
    "answers with two copies of a block",
    "divergences",                // another token in place of the one in a shared block
    "overwritten blocks",         // findable before, forgotten to be written to
    "tokens in room held ahead",  // lookahead that is written to
    "blocks given back by windows",
    "blocks given back by windows, shared",
    "forks of sequences with lookahead",
    "beams of one parent",
    "beams dropped",  // parents without a child
    "truncates into a shared block",
    "truncates below what is published",
    "truncates refused by a window",
    "swaps out with sharing",  // fewer blocks than table entries are copied
    "swaps out of blocks that others keep",
    "swaps in with sharing",  // fewer copies than table entries
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
    "commits after a reset",  // by sequences that were alive at the reset
    "full pools",
    "blocks used unevenly",  // holders of a block use different slots of it
};

}  // namespace

std::span<const std::string_view> coverage_events() { return kEvents; }

Coverage::Coverage() {
  for (const std::string_view event : kEvents) events_[event] = 0;
}

void Coverage::count(std::string_view event, std::int64_t times) {
  const auto found = events_.find(event);
  RECTO_CHECK(found != events_.end());
  found->second += times;
}

void Coverage::print(std::ostream& out) const {
  for (const std::string_view event : kEvents) {
    out << std::setw(9) << times(event) << ' ' << event << '\n';
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

}  // namespace recto::cache::testing
