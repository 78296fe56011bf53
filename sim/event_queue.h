#pragma once

// The future of a simulation. Events are totally ordered by (time, priority, sequence number), so
// that equal times never depend on the heap.

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "core/contract.h"
#include "core/units.h"

namespace recto::sim {

// Of events at the same instant, smaller values come first: a step ends, and gives its slots back,
// before a request that arrives just then is looked at.
enum class EventKind : std::uint8_t { kStepEnd = 0, kTransferEnd = 1, kArrival = 2 };

struct Event {
  SimTime time;
  EventKind kind = EventKind::kArrival;  // also its priority
  std::uint64_t sequence_number = 0;     // order of scheduling
};

class EventQueue {
 public:
  // The event lies at or after `now()`. O(log events).
  void schedule(SimTime time, EventKind kind) {
    RECTO_CHECK_GE(time, now_);
    heap_.push({time, kind, next_sequence_number_++});
  }

  // The earliest event; time moves to it. There is one.
  Event pop() {
    const Event event = heap_.top();
    heap_.pop();
    now_ = event.time;
    return event;
  }

  bool empty() const { return heap_.empty(); }
  SimTime next_time() const { return heap_.top().time; }
  SimTime now() const { return now_; }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return std::tie(a.time, a.kind, a.sequence_number) >
             std::tie(b.time, b.kind, b.sequence_number);
    }
  };

  std::priority_queue<Event, std::vector<Event>, Later> heap_;
  std::uint64_t next_sequence_number_ = 0;
  SimTime now_;
};

}  // namespace recto::sim
