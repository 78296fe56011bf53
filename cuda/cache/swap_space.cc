#include "cuda/cache/swap_space.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/contract.h"
#include "cuda/cache/message.h"

namespace recto::cache {

// A set of sequences whose blocks are copied from one pool to another.
class SwapSpace::Set {
 public:
  // With lookahead, no two members share the block in which a context ends.
  Set(const CacheGeometry& geometry, const Holdings& from,
      std::span<const SequenceHandle> sequences, TokenCount lookahead)
      : geometry_(geometry), from_(from), sequences_(sequences), lookahead_(lookahead) {}

  // Calls visit(place, first member with the same block) for each entry that rows from the context
  // on need, member by member.
  template <typename Visit>
  void visit_entries(const Visit& visit) const {
    for (std::size_t member = 0; member < sequences_.size(); ++member) {
      const std::int32_t sequence = sequences_[member].index;
      const std::int64_t end = geometry_.blocks_for(from_.row(sequence).length);
      for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
        for (std::int64_t block = first_entry(sequence, group); block < end; ++block) {
          const TablePlace place{sequence, group, block};
          visit(place, first_sharer(place, member));
        }
      }
    }
  }
  std::int64_t count_blocks() const {
    std::int64_t blocks = 0;
    visit_entries([&](const TablePlace& place, std::int32_t sharer) {
      if (sharer == place.sequence) ++blocks;
    });
    return blocks;
  }
  std::int64_t first_entry(std::int32_t sequence, std::int32_t group) const {
    return std::max<std::int64_t>(from_.first(sequence, group),
                                  geometry_.first_needed(group, from_.row(sequence).length));
  }
  const Holdings& from() const { return from_; }
  std::span<const SequenceHandle> sequences() const { return sequences_; }

 private:
  // Sequences share blocks only at the same logical index.
  std::int32_t first_sharer(const TablePlace& place, std::size_t member) const {
    const BlockId block = from_.block(place);
    if (from_.pool().holders(block) == 1 || is_own_tail(place)) return place.sequence;
    for (const SequenceHandle& handle : sequences_.first(member)) {
      const TablePlace other{handle.index, place.group, place.block};
      const bool has_entry = other.block < from_.row(other.sequence).blocks &&
                             other.block >= first_entry(other.sequence, other.group);
      if (has_entry && from_.block(other) == block && !is_own_tail(other)) return other.sequence;
    }
    return place.sequence;
  }
  bool is_own_tail(const TablePlace& place) const {
    const std::int64_t length = from_.row(place.sequence).length;
    return lookahead_ > TokenCount(0) && !geometry_.is_aligned(length) &&
           place.block == geometry_.full_blocks(length);
  }

  const CacheGeometry& geometry_;
  const Holdings& from_;
  std::span<const SequenceHandle> sequences_;
  TokenCount lookahead_;
};

Status SwapSpace::allocate() {
  const std::int32_t sequences = options_.max_sequences;
  RECTO_RETURN_IF_ERROR(transfers_.allocate(sequences, "transfers"));
  if (options_.host_blocks.value() == 0) return Status::ok();
  RECTO_RETURN_IF_ERROR(host_.allocate(options_.host_blocks, BlockCount(0), 0));
  const std::int64_t tails = std::int64_t{sequences} * geometry_.num_groups();
  return copies_.allocate(options_.host_blocks.value() + tails, "swap copies");
}

// Invalid input unless all are in this state and each occurs only once.
Status SwapSpace::check_members(std::span<const SequenceHandle> sequences,
                                SequenceState state) const {
  if (sequences.empty()) return Status::invalid_input("no sequences");
  for (std::size_t member = 0; member < sequences.size(); ++member) {
    RECTO_RETURN_IF_ERROR(sequences_.find_in(sequences[member], state).status());
    const auto before = sequences.first(member);
    if (std::find(before.begin(), before.end(), sequences[member]) == before.end()) continue;
    return Status::invalid_input(message("sequence ", sequences[member], " stands twice"));
  }
  return Status::ok();
}

Status SwapSpace::check_out(std::span<const SequenceHandle> sequences) const {
  const BlockPool& pool = host_.pool();
  if (pool.size() == BlockCount(0)) {
    return Status::invalid_input("there is no host pool: host_blocks = 0");
  }
  RECTO_RETURN_IF_ERROR(check_members(sequences, SequenceState::kRunning));
  const std::int64_t needed = Set(geometry_, device_, sequences, TokenCount(0)).count_blocks();
  if (needed <= pool.free().value()) return Status::ok();
  return Status::exhausted(message("needs ", needed, " blocks of the host pool; ", pool.free(),
                                   " of ", pool.size(), " are free"));
}

Status SwapSpace::check_in(std::span<const SequenceHandle> sequences, TokenCount lookahead) const {
  RECTO_RETURN_IF_ERROR(check_members(sequences, SequenceState::kSwapped));
  std::int64_t needed = 0;
  for (const SequenceHandle& handle : sequences) {
    const std::int64_t length = host_.row(handle.index).length;
    const std::int64_t room = geometry_.max_tokens() - length;
    if (lookahead.value() < 0 || lookahead.value() > room) {
      return Status::invalid_input(message("lookahead ", lookahead, "; expected 0 to the ", room,
                                           " that the table of sequence ", handle, " has left"));
    }
    needed += geometry_.num_groups() *
              (geometry_.blocks_for(length + lookahead.value()) - geometry_.blocks_for(length));
  }
  needed += Set(geometry_, host_, sequences, lookahead).count_blocks();
  const BlockPool& pool = device_.pool();
  const BlockCount watermark = options_.watermark;
  if (needed + watermark.value() <= pool.available().value()) return Status::ok();
  return Status::exhausted(message("needs ", needed, " blocks; there are ", pool.free(),
                                   " free and ", pool.evictable(),
                                   " evictable, and a watermark of ", watermark));
}

// Gives back lookahead, blocks that no row can see any more, and the chain in the prefix index.
void SwapSpace::trim(std::int32_t sequence) {
  const TableRow& row = device_.row(sequence);
  prefix_.cut_chain(sequence, 0);
  sequences_.log().add(sequence, 0, row.blocks);
  device_.drop_behind(sequence, geometry_.blocks_for(row.length));
  for (const std::int32_t group : geometry_.window_groups()) {
    device_.drop_before(sequence, group, geometry_.first_needed(group, row.length));
  }
  device_.stop_run(sequence);
}

// Gives the members tables of the same shape on the other side, and lists the copies to make.
Transfer SwapSpace::begin(const Set& set, SwapDirection direction) {
  const bool is_out = direction == SwapDirection::kOut;
  Holdings& to = is_out ? host_ : device_;
  for (const SequenceHandle& handle : set.sequences()) {
    for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
      to.begin_row(handle.index, group, set.first_entry(handle.index, group));
    }
  }
  std::int64_t num_copies = 0;
  set.visit_entries([&](const TablePlace& place, std::int32_t sharer) {
    if (sharer != place.sequence) {
      to.join(place, to.block({sharer, place.group, place.block}));
      return;
    }
    const BlockId from = set.from().block(place);
    const BlockId taken = is_out ? host_.take(place).block : prefix_.take(place);
    copies_[num_copies++] = {
        .group = place.group, .device = is_out ? from : taken, .host = is_out ? taken : from};
  });
  std::int32_t next = -1;
  for (std::size_t member = set.sequences().size(); member-- > 0;) {
    const std::int32_t index = set.sequences()[member].index;
    to.row(index).blocks = set.from().row(index).blocks;
    sequences_[index].state = is_out ? SequenceState::kSwappingOut : SequenceState::kSwappingIn;
    sequences_.details(index).next_in_transfer = std::exchange(next, index);
  }
  return {.handle = transfers_.open({.direction = direction, .first_sequence = next}),
          .copies = copies_.first(num_copies)};
}

Result<Transfer> SwapSpace::swap_out(std::span<const SequenceHandle> sequences) {
  RECTO_RETURN_IF_ERROR(check_out(sequences));
  for (const SequenceHandle& handle : sequences) trim(handle.index);
  return begin(Set(geometry_, device_, sequences, TokenCount(0)), SwapDirection::kOut);
}

Result<Transfer> SwapSpace::swap_in(std::span<const SequenceHandle> sequences,
                                    TokenCount lookahead) {
  RECTO_RETURN_IF_ERROR(check_in(sequences, lookahead));
  const Transfer transfer = begin(Set(geometry_, host_, sequences, lookahead), SwapDirection::kIn);
  for (const SequenceHandle& handle : sequences) {
    const std::int64_t length = host_.row(handle.index).length + lookahead.value();
    prefix_.take_until(handle.index, geometry_.blocks_for(length));
    sequences_.log().add(handle.index, 0, device_.row(handle.index).blocks);
  }
  return transfer;
}

Status SwapSpace::complete(TransferHandle transfer) {
  const std::optional<TransferRecord> record = transfers_.find(transfer);
  if (!record) {
    return Status::invalid_input(message("transfer ", transfer, " is not in progress"));
  }
  const bool is_out = record->direction == SwapDirection::kOut;
  Holdings& to = is_out ? host_ : device_;
  for (std::int32_t index = record->first_sequence; index >= 0;) {
    Sequence& mine = sequences_[index];
    to.set_length(index, mine.context());
    if (is_out) {
      prefix_.give_back(index);
    } else {
      give_back(index);
    }
    const std::int32_t next = sequences_.details(index).next_in_transfer;
    if (mine.life == SequenceLife::kReleased) {
      prefix_.give_back(index);
      give_back(index);
      sequences_.close(index);
    } else {
      mine.state = is_out ? SequenceState::kSwapped : SequenceState::kRunning;
      device_.stop_run(index);
    }
    index = next;
  }
  transfers_.close(transfer.index);
  return Status::ok();
}

void SwapSpace::give_back(std::int32_t sequence) {
  host_.drop_behind(sequence, 0);
  host_.row(sequence).length = 0;
}

}  // namespace recto::cache
