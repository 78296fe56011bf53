#pragma once

// The interface of observers, such as the checks of verify/simt/checks, which are notified of what
// threads do to memory and how they wait for each other. Plain loads and stores are reported only
// in builds that observe them (kernels.bzl).

#include <cstddef>
#include <cstdint>
#include <optional>

#include "verify/simt/executor/finding.h"
#include "verify/simt/executor/kernel_thread.h"

namespace recto::simt {

class DeviceMemory;
class ThreadBlock;
struct Collective;
struct Launch;
struct ThreadState;

enum class AccessKind : std::uint8_t {
  kRead,
  kWrite,
  kAtomicRead,
  kAtomic,  // writes, and may read
};

// "reads", for messages.
constexpr const char* access_verb(AccessKind kind) {
  constexpr const char* kVerbs[] = {"reads", "writes", "atomically reads", "atomically updates"};
  return kVerbs[static_cast<int>(kind)];
}

// kAny: for example the bytes of a memcpy, which a GPU copies one by one if necessary.
enum class AccessAlignment : std::uint8_t { kNatural, kAny };

// What a load or store does at its address.
struct AccessShape {
  std::size_t bytes = 0;
  AccessKind kind = AccessKind::kRead;
  AccessAlignment alignment = AccessAlignment::kNatural;
  // For an atomic operation: the value that it writes does not depend on the old one.
  bool is_overwriting = false;
};

// An address that is treated as that of an object but does not satisfy the alignment of its type,
// as compilers report it with -fsanitize=alignment, even if only members of the object are touched.
struct Misalignment {
  std::uintptr_t address = 0;
  std::size_t alignment = 0;  // that the type requires, in bytes
  const char* type = "";      // in quotation marks, as the compiler writes it
};

// Bytes that something accesses in one way.
struct TouchedRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  AccessKind kind = AccessKind::kRead;

  friend bool operator==(const TouchedRange&, const TouchedRange&) = default;
};

// What an instruction does for a thread, other than a plain load or store.
struct AsyncCopy {
  const void* source = nullptr;
  void* destination = nullptr;
  std::size_t bytes = 0;  // read; the rest, up to destination_bytes, is filled with zeros
  std::size_t destination_bytes = 0;
  std::uintptr_t instruction = 0;
  Site site = {};  // also of the instruction
  // For a bulk copy: threads that have waited at this mbarrier may read the copy's bytes.
  const std::uint64_t* mbarrier = nullptr;
};

// Called by the OS thread that runs thread blocks: only one does while there is an observer.
class Observer {
 public:
  virtual ~Observer() = default;

  // Between launches: an operation of the host program, such as "copy", is about to touch `range`.
  // Returns a finding if that is wrong; otherwise the operation continues.
  virtual std::optional<Finding> touch_by_host(const char* /*operation*/, const TouchedRange&) {
    return std::nullopt;
  }

  // The buffers that the observer knows, whose names messages use; or null.
  virtual const DeviceMemory* memory() const { return nullptr; }

  virtual void begin_launch(Launch&) {}
  virtual void end_launch() {}
  virtual void begin_block(ThreadBlock&) {}
  virtual void end_block(ThreadBlock&) {}

  // Whether threads yield to others at some accesses, as Schedule::preemption_period requests.
  virtual bool preempts() const { return false; }

  // Called by the running thread, which is about to touch memory. May yield to others, or not
  // return.
  virtual void access(std::uintptr_t address, AccessShape shape, std::uintptr_t instruction) = 0;
  // Called by the running thread, which is about to touch something in that object. May not return.
  virtual void misalignment(const Misalignment&, std::uintptr_t /*instruction*/) {}
  // The last instruction with which this thread touched memory, if known; else 0.
  virtual std::uintptr_t last_access(const ThreadState&) const { return 0; }
  virtual void exit_thread(ThreadState&) {}

  // All threads of the block have arrived at a barrier and are about to leave it.
  virtual void pass_barrier(ThreadBlock&) {}
  virtual void pass_grid_barrier() {}
  // These lanes have arrived at the same warp-wide operation, a barrier if it orders memory.
  virtual void pass_collective(ThreadBlock&, unsigned /*warp*/, std::uint32_t /*lanes*/,
                               const Collective&) {}

  // Orders what a thread does before it releases `object` (for example, before it arrives at an
  // mbarrier) before what another thread does after it acquires the object (has waited there), if a
  // phase of the object has ended in between.
  virtual void release(ThreadState&, const void* /*object*/) {}
  virtual void end_phase(ThreadBlock&, const void* /*object*/) {}
  virtual void acquire(ThreadState&, const void* /*object*/) {}

  // An asynchronous copy was requested; its bytes arrive (and are written) later, at finish_copy. A
  // thread finishes its own copies; bulk copies are finished by one that waits.
  virtual void begin_copy(ThreadState&, const AsyncCopy&) {}
  virtual void finish_copy(ThreadState&, const AsyncCopy&) {}

  // The running thread passes a fence across thread blocks. Reported only in builds that observe
  // accesses.
  virtual void pass_fence() {}
};

// The observer of the running kernel's memory accesses; null in all other code, even if it runs for
// a kernel. (The linker may give other code inline functions that were compiled with a kernel, so
// that their accesses are reported, too.)
extern constinit thread_local Observer* kernel_observer;

// Marks a scope of code that the kernel calls but that is not part of it.
class OutsideKernel {
 public:
  OutsideKernel() : observer_(kernel_observer) { kernel_observer = nullptr; }
  ~OutsideKernel() { kernel_observer = observer_; }
  OutsideKernel(const OutsideKernel&) = delete;
  OutsideKernel& operator=(const OutsideKernel&) = delete;

 private:
  Observer* const observer_;
};

}  // namespace recto::simt
