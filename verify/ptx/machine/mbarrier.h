#pragma once

// mbarrier objects in the shared memory of a thread block: PTX ISA, "Parallel Synchronization and
// Communication Instructions: mbarrier".

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/ptx/checks/grid_checker.h"
#include "verify/ptx/machine/finding.h"

namespace recto::ptx {

// What an asynchronous copy has yet to do.
struct Delivery {
  std::function<void()> copy;
  std::uint32_t bytes = 0;     // that it reports
  std::uint32_t arrivals = 0;  // of cp.async.mbarrier.arrive
};

// Where an asynchronous copy began, and in which phase of the object that counts it.
struct CopyBegin {
  std::uint32_t phase = 0;
  std::uint32_t place = 0;  // of the program
  ThreadPlace thread = {};
};

struct Mbarrier {
  std::uint32_t phase = 0;
  std::uint32_t expected = 0;  // arrivals in each phase
  std::uint32_t pending = 0;   // arrivals
  std::int64_t bytes = 0;      // the tx-count: expected ones, less those that came
  bool is_end_seen = true;     // a thread has seen the end of the phase before
  std::uint32_t stream = 0;    // of asynchronous operations
  Stamp init = {};             // who initialised it, if that is recorded
  std::vector<Delivery> deliveries = {};
  // What threads knew when they arrived, and what those who see the last phase's end know.
  Clocks arriving = {};
  Clocks ended = {};
  std::optional<CopyBegin> last_copy = {};

  // No thread has seen the end of the phase in which the last copy began.
  bool has_unseen_copy() const;
  std::string text() const;  // "phase 3, with 1 of 2 arrivals and 256 bytes missing"
};

// Texts that are returned say what is wrong; they are empty if nothing is.
class Mbarriers {
 public:
  void begin() { objects_.clear(); }

  std::string init(std::uint32_t address, std::uint32_t count, std::uint32_t stream);
  std::string invalidate(std::uint32_t address);
  Mbarrier* find(std::uint32_t address);  // or null
  // Whether one is in [low, high).
  bool is_within(std::uint64_t low, std::uint64_t high) const;

  std::string arrive(Mbarrier& object, std::uint32_t count);
  std::string drop(Mbarrier& object, std::uint32_t count);  // also from later phases
  // More bytes are expected; fewer, if they have come.
  std::string expect(Mbarrier& object, std::int64_t bytes);
  // Asynchronous copies that the object awaits take place.
  std::string deliver(Mbarrier& object);
  // The same for all objects, up to the first problem.
  struct Delivered {
    bool has_copies = false;
    std::string problem = {};  // and the object that has it
    std::uint32_t address = 0;
    CopyBegin copy = {};
  };
  Delivered deliver_all();
  // The first object with a copy whose end nobody has seen, or null.
  const Mbarrier* find_unseen_copy() const;

  // Grows with each phase that ends.
  std::uint32_t num_ended() const { return num_ended_; }

 private:
  void end_phase(Mbarrier& object);

  std::map<std::uint32_t, Mbarrier> objects_;  // by address
  std::uint32_t num_ended_ = 0;
};

}  // namespace recto::ptx
