#pragma once

// Checks which requests wait, and whether the first one fits. After every event, derives both from
// the map of slots and their contents, not from the allocator's answers.

#include <cstdint>
#include <map>

#include "sim/metrics/gauges.h"
#include "sim/scheduling/sequence_group.h"
#include "sim/testing/audit_options.h"
#include "sim/testing/slot_map.h"
#include "sim/testing/token_memory.h"

namespace recto::sim {

class QueueAudit {
 public:
  // All arguments must outlive this object.
  QueueAudit(const Allocator& allocator, const AuditOptions& options, const TokenMemory& memory)
      : allocator_(allocator), options_(options), memory_(memory) {}

  // A group is registered from its arrival to its end.
  void add(const SequenceGroup& group) { groups_[group.request.id] = &group; }
  void remove(const SequenceGroup& group) { groups_.erase(group.request.id); }

  void check(const GaugeValues& gauges, const SlotMap& map) const;

 private:
  // The room that a group asks for.
  struct Room {
    bool is_enough_in_sum = true;
    bool has_places = true;
  };
  struct Hits {
    std::int64_t blocks = 0;
    std::int64_t evictable = 0;  // hits without a holder
  };

  const SequenceGroup* head() const;
  Room room_for(const SequenceGroup& group, const SlotMap& map) const;
  Room room_for_regions(const SequenceGroup& group, const SlotMap& map) const;
  Room room_for_blocks(std::int64_t blocks, std::int64_t kept, const SlotMap& map) const;
  std::int64_t context_wanted(const SequenceGroup& group) const;
  Hits find_hits(const SequenceGroup& group, std::int64_t length) const;

  const Allocator& allocator_;
  const AuditOptions& options_;
  const TokenMemory& memory_;
  std::map<std::int64_t, const SequenceGroup*> groups_;  // by request id
};

}  // namespace recto::sim
