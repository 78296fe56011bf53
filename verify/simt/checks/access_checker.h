#pragma once

// Checks every memory access of a kernel: bounds, alignment, use, initialisation, data races,
// asynchronous copies. Kernels must be built for it (NAME_observed of kernels.bzl); in other
// kernels it sees only the copies.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/random_stream.h"
#include "verify/simt/checks/access_order.h"
#include "verify/simt/checks/access_recorder.h"
#include "verify/simt/checks/global_buffers.h"
#include "verify/simt/checks/program_memory.h"
#include "verify/simt/checks/shadow_cells.h"
#include "verify/simt/checks/touched_memory.h"
#include "verify/simt/executor/device_memory.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/executor/observer.h"

namespace recto::simt {

// How to treat something that a kernel may do on purpose.
enum class Severity : std::uint8_t {
  kOff,
  kNote,     // kept by the checker
  kFinding,  // in the launch's report
};

struct AccessCheckerOptions {
  Severity races = Severity::kFinding;
  Severity uninitialised_shared = Severity::kFinding;
  // For reads of buffers that must be written first.
  Severity uninitialised_global = Severity::kFinding;
  Severity logical_bounds = Severity::kFinding;
  // A launch without any observed access, for example because the kernel is not built for it.
  Severity unobserved_launches = Severity::kFinding;
  // The accesses of one thread block (of the grid, in cooperative launches) after which it is
  // considered to never end.
  std::uint64_t accesses_max = std::uint64_t{1} << 30;
};

// For one executor at a time:
//
//   AccessChecker checker(memory, {});
//   executor.set_observer(&checker);
//
// The writes of a launch are remembered in later launches. An access costs O(1). Memory that is not
// read-only takes eight times its size in addition once it is touched.
class AccessChecker final : public Observer {
 public:
  // The memory must outlive it. Buffers may be added and removed between launches.
  AccessChecker(const DeviceMemory& memory, const AccessCheckerOptions& options)
      : memory_(memory), options_(options), buffers_(memory) {}

  // Call both between launches. The host has written these bytes of a kWriteFirst buffer;
  // mark_unwritten: the bytes count as unwritten again. O(bytes).
  void mark_written(const void* data, std::size_t bytes) {
    buffers_.refresh();
    buffers_.mark(data, bytes, AccessOrder::kHostWrite);
  }
  void mark_unwritten(const void* data, std::size_t bytes) {
    buffers_.refresh();
    buffers_.mark(data, bytes, {});
  }

  // The findings of severity kNote, in all launches.
  const std::vector<Finding>& notes() const { return notes_; }
  // The number of accesses seen in all launches.
  std::uint64_t accesses() const { return accesses_; }

  std::optional<Finding> touch_by_host(const char* operation, const TouchedRange& range) override;
  const DeviceMemory* memory() const override { return &memory_; }
  bool preempts() const override { return true; }
  void begin_launch(Launch& launch) override;
  void end_launch() override;
  void begin_block(ThreadBlock& block) override;
  void end_block(ThreadBlock& block) override;
  void access(std::uintptr_t address, AccessShape shape, std::uintptr_t instruction) override;
  std::uintptr_t last_access(const ThreadState& thread) const override {
    return thread_ == &thread ? last_instruction_ : 0;
  }
  void misalignment(const Misalignment& object, std::uintptr_t instruction) override;
  void exit_thread(ThreadState& thread) override;
  void pass_barrier(ThreadBlock& block) override;
  void pass_grid_barrier() override;
  void pass_collective(ThreadBlock& block, unsigned warp, std::uint32_t lanes,
                       const Collective& what) override;
  void release(ThreadState& thread, const void* object) override;
  void end_phase(ThreadBlock& block, const void* object) override;
  void acquire(ThreadState& thread, const void* object) override;
  void begin_copy(ThreadState& thread, const AsyncCopy& copy) override;
  void finish_copy(ThreadState& thread, const AsyncCopy& copy) override;
  void pass_fence() override;

 private:
  // What a part of an asynchronous copy does to memory.
  enum class CopyStep : std::uint8_t { kNone, kBegin, kFinish, kFinishBulk };
  struct Access {
    std::uintptr_t address = 0;
    AccessShape shape = {};
    std::uintptr_t instruction = 0;
    CopyStep copy_step = CopyStep::kNone;
  };
  struct PendingCopy {
    AsyncCopy copy = {};
    const ThreadState* thread = nullptr;
  };

  void resume_thread();
  void take_turn(const Access& access);
  void plan_event();
  void settle_accesses();

  void look(const Access& access);
  void look_at_shared(const Access& access);
  void look_at_buffer(const Access& access, GlobalBuffer& buffer);
  void look_elsewhere(const Access& access);
  void look_across_ranges(const Access& access, GlobalBuffer& buffer);
  void look_at_copy(const AsyncCopy& copy, CopyStep step);
  template <Scope kScope>
  void note(const Access& access, ShadowCells& cells, std::size_t offset,
            std::uint32_t written_from);
  template <Scope kScope>
  void note_bytes(const Access& access, ShadowCells& cells, std::size_t offset,
                  std::uint32_t written_from);
  template <Scope kScope>
  [[gnu::noinline]] void note_copied(const Access& access, ShadowCells& cells, std::size_t offset,
                                     std::uint32_t written_from);
  template <Scope kScope>
  [[gnu::noinline]] void note_part(const Access& part, AccessRecord& record,
                                   std::uint32_t written_from);
  // Whether the access is in the shared variable touched last, or in the one at that address.
  bool is_in_variable(const Access& access) const {
    const std::uintptr_t offset = access.address - variable_begin_;
    return offset < variable_bytes_ && access.shape.bytes <= variable_bytes_ - offset;
  }
  [[gnu::noinline]] bool find_variable(const Access& access);

  // Ends the launch; other findings do not affect the kernel.
  [[noreturn]] void refuse(const Access& access, Check check, std::string what) const;
  [[noreturn]] void refuse_place(const Access& access, Check check, const char* why) const;
  [[noreturn]] void refuse_misaligned(const Access& access) const;
  void report_conflict(const Access& part, Scope scope, const Conflict& conflict);
  void report(Severity severity, Finding finding);
  void report_unobserved();
  Finding finding_of(const Access& access, Check check, std::string what) const;
  std::string describe(std::uintptr_t address) const;
  std::string text_of(const Access& access) const;
  // Whether this finding has not been reported yet in this launch.
  bool is_news(Check check, std::uintptr_t instruction, std::uint32_t other_at);

  const DeviceMemory& memory_;
  const AccessCheckerOptions options_;
  AccessOrder order_;
  GlobalBuffers buffers_;
  ProgramMemory program_;
  std::map<const ThreadBlock*, ShadowCells> shared_cells_;

  Launch* launch_ = nullptr;
  bool tells_touched_ = false;  // whether the launch asks for them
  TouchedMemory touched_;
  std::vector<PendingCopy> pending_;
  std::set<std::tuple<Check, std::uintptr_t, std::uint32_t>> told_;
  std::vector<Finding> notes_;
  RandomStream random_{0};

  // The number of accesses until the next event: a preemption, or the limit of accesses.
  std::uint64_t until_event_ = 0;
  std::uint64_t accesses_left_ = 0;  // after the event
  std::uint64_t accesses_ = 0;
  std::uint64_t accesses_before_ = 0;  // before the launch

  // State of the running thread.
  const KernelThread* thread_ = nullptr;
  std::uintptr_t last_instruction_ = 0;
  ThreadBlock* block_ = nullptr;
  ShadowCells* cells_ = nullptr;  // of the block's shared memory
  std::uintptr_t shared_begin_ = 0;
  std::size_t shared_bytes_ = 0;
  std::uintptr_t variable_begin_ = 0;  // of the shared variable touched last
  std::size_t variable_bytes_ = 0;
  std::uintptr_t stack_begin_ = 0;
  std::size_t stack_bytes_ = 0;
  ProgramMemory::Range constants_;  // the constants read last
};

}  // namespace recto::simt
