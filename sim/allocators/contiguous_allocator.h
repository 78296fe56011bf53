#pragma once

// One region of consecutive slots per sequence, reserved when its request is admitted and held
// until it ends, as engines did before paging. A rule decides how much to reserve; the placement
// policy decides where.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/allocators/allocator.h"
#include "sim/allocators/placement.h"

namespace recto::sim {

// How many slots are reserved for a sequence: Orca's three variants in the PagedAttention paper.
enum class ReservationRule : std::uint8_t {
  kMax,   // the longest context that the engine serves, for every request
  kPow2,  // the prompt, and the output length rounded up to a power of two: as if the engine could
          // guess it within a factor of two
  kOracle,  // exactly what the sequence will fill: the best possible reservation
};

struct ContiguousOptions {
  TokenCount pool_slots;
  ReservationRule rule = ReservationRule::kMax;
  PlacementKind placement = PlacementKind::kBuddy;
  TokenCount max_length{2048};  // the longest context that the engine serves
};

class ContiguousAllocator final : public Allocator {
 public:
  explicit ContiguousAllocator(const ContiguousOptions& options);

  void open(SequenceId sequence, const SequenceSpec& spec) override;
  void close(SequenceId sequence) override;
  bool can_ever_hold(const Request& request, TokenCount spare) const override;
  Fit fit(std::span<const SequenceId> members, TokenCount length, TokenCount spare) const override;
  TokenCount cached_prefix(SequenceId, TokenCount) const override { return TokenCount(0); }
  std::optional<Growth> admit(std::span<const SequenceId> members, TokenCount length) override;
  std::optional<Growth> grow(SequenceId sequence, TokenCount context, TokenCount length) override;
  Growth share(SequenceId parent, SequenceId child, TokenCount length) override;
  Release release(SequenceId sequence, TokenCount context) override;
  TableShape shape(std::span<const SequenceId> members, TokenCount context) const override;
  bool restore(std::span<const SequenceId> members, const TableShape& shape,
               TokenCount spare) override;
  void commit(SequenceId, TokenCount) override {}
  PoolCounts counts() const override;
  TokenCount block_size() const override { return TokenCount(1); }
  bool is_paged() const override { return false; }
  std::string describe() const override;

  Region region(SequenceId sequence) const override { return holder(sequence).region; }

 private:
  struct Holder {
    SequenceSpec spec;
    Region region;
  };
  Holder& holder(SequenceId sequence) {
    return holders_[static_cast<std::size_t>(sequence.value())];
  }
  const Holder& holder(SequenceId sequence) const {
    return holders_[static_cast<std::size_t>(sequence.value())];
  }
  // The slots to reserve for one sequence of the request: at least its final context.
  TokenCount reservation(const Request& request) const;
  bool place_all(std::span<const SequenceId> members);

  ContiguousOptions options_;
  std::unique_ptr<Placement> placement_;
  std::vector<Holder> holders_;  // by SequenceId
  std::int64_t region_count_ = 0;
};

}  // namespace recto::sim
