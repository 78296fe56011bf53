#pragma once

// Asynchronous copies of a thread block's threads: cp.async, and bulk copies (TMA). In half of the
// schedules their bytes arrive at once, in the others as late as possible.

#include <cstdint>
#include <functional>
#include <vector>

#include "verify/ptx/machine/block_memory.h"
#include "verify/ptx/machine/bulk_transfer.h"
#include "verify/ptx/machine/mbarrier_steps.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

class AsyncCopies {
 public:
  explicit AsyncCopies(BlockMemory& memory) : memory_(memory) {}

  void begin(std::uint32_t threads);

  // cp.async and its groups, cp.async.mbarrier.arrive. Functions that return bool return false if
  // the kernel cannot go on.
  bool copy(const WarpStep& at, const Detail& detail);
  void commit(const WarpStep& at);
  void wait(const WarpStep& at, const Detail& detail);
  bool arrive(const WarpStep& at, const Detail& detail);

  // cp.async.bulk and its groups.
  bool copy_bulk(const WarpStep& at, const Detail& detail);
  void commit_bulk(const WarpStep& at);
  void wait_bulk(const WarpStep& at, const Detail& detail);

  // Reports copies that these lanes have not waited for.
  void exit(const WarpStep& at);
  // Once no thread runs any more: copies to the thread block's memory that nobody has waited for.
  void check_ends(const WarpStep& last);

 private:
  struct Copy {
    std::uint32_t destination = 0;  // in shared memory
    std::uint64_t source = 0;
    std::uint8_t bytes = 0;
    std::uint8_t source_bytes = 0;
    std::uint32_t group = 0;
    std::uint32_t place = 0;
  };
  struct BulkStore {
    std::uint32_t group = 0;
    std::uint32_t place = 0;
    std::function<void()> copy = {};  // empty if it has taken place
    bool has_read = false;
  };
  struct Thread {
    std::vector<Copy> copies = {};
    std::uint32_t committed = 0;
    std::vector<BulkStore> stores = {};
    std::uint32_t stores_committed = 0;
    // Streams of operations, from which groups are waited for.
    std::uint32_t reads = 0;
    std::uint32_t writes = 0;
    bool has_streams = false;
  };
  // One lane's bulk copy.
  struct BulkCopy {
    const WarpStep& at;
    const Detail& detail;
    unsigned lane = 0;
    BulkTransfer transfer = {};
    std::vector<BoxLine> lines = {};
  };

  bool is_late() const;
  Thread& thread(const WarpStep& at, unsigned lane) { return threads_[at.warp.thread(lane)]; }
  static void run(std::byte* shared, const Copy& copy);
  bool read_part(const WarpStep& at, const Detail& detail, unsigned lane, std::uint32_t bytes);

  bool read_transfer(BulkCopy& bulk);
  bool read_box(BulkCopy& bulk);
  bool load_bulk(BulkCopy& bulk);
  bool load_bulk_into(BulkCopy& bulk, const BlockMemory::SharedPlace& to, const MbarrierAt& signal);
  bool store_bulk(BulkCopy& bulk);
  bool touch_other_side(BulkCopy& bulk, AccessKind kind, std::uint32_t operation);
  bool touch_shared(const BulkCopy& bulk, const BlockMemory::SharedPlace& place,
                    const Access& access);
  std::uint32_t begin_operation(std::uint32_t stream, std::uint32_t index);
  void begin_copy(const WarpStep& at, unsigned lane, Mbarrier& object) const;

  BlockMemory& memory_;
  std::vector<Thread> threads_;
};

}  // namespace recto::ptx
