#pragma once

// Who wants to know what threads do to memory and how they wait for each other: the checks of
// verify/simt/checks. Plain loads and stores are told of in builds that observe them (kernels.bzl)
// only.

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
  kAtomic,  // that writes, and may read
};

// "reads", for messages.
constexpr const char* access_verb(AccessKind kind) {
  constexpr const char* kVerbs[] = {"reads", "writes", "atomically reads", "atomically updates"};
  return kVerbs[static_cast<int>(kind)];
}

// kAny: such as the bytes of a memcpy, which a GPU takes one by one if need be.
enum class AccessAlignment : std::uint8_t { kNatural, kAny };

// What a load or store does at its address.
struct AccessShape {
  std::size_t bytes = 0;
  AccessKind kind = AccessKind::kRead;
  AccessAlignment alignment = AccessAlignment::kNatural;
  // Of an atomic operation: it leaves there what does not depend on what was there.
  bool is_overwriting = false;
};

// An address at which an object is taken to lie that its type does not allow there, as compilers
// tell it with -fsanitize=alignment: also of objects whose members are then touched one by one.
struct Misalignment {
  std::uintptr_t address = 0;
  std::size_t alignment = 0;  // which the type asks for, in bytes
  const char* type = "";      // in quotation marks, as the compiler writes it
};

// Bytes that something touches in one way.
struct TouchedRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  AccessKind kind = AccessKind::kRead;

  friend bool operator==(const TouchedRange&, const TouchedRange&) = default;
};

// What an instruction does on behalf of a thread, other than a plain load or store.
struct AsyncCopy {
  const void* source = nullptr;
  void* destination = nullptr;
  std::size_t bytes = 0;  // read; up to destination_bytes the rest is filled with zeros
  std::size_t destination_bytes = 0;
  std::uintptr_t instruction = 0;
  Site site = {};  // of the instruction, too
  // Of a bulk copy: its bytes may be read by who has waited at this one.
  const std::uint64_t* mbarrier = nullptr;
};

// Called by OS threads that run thread blocks; they run on one OS thread while there is an
// observer.
class Observer {
 public:
  virtual ~Observer() = default;

  // Between launches: an operation of the host program, such as "copy", is about to touch `range`.
  // What is wrong with that, or nothing: then it does.
  virtual std::optional<Finding> touch_by_host(const char* /*operation*/, const TouchedRange&) {
    return std::nullopt;
  }

  // The buffers that it knows, whose names are for messages; or null.
  virtual const DeviceMemory* memory() const { return nullptr; }

  virtual void begin_launch(Launch&) {}
  virtual void end_launch() {}
  virtual void begin_block(ThreadBlock&) {}
  virtual void end_block(ThreadBlock&) {}

  // Whether threads yield to others at some accesses, as Schedule::preemption_period asks.
  virtual bool preempts() const { return false; }

  // By the running thread, which is about to touch memory. It may yield to others, or not return.
  virtual void access(std::uintptr_t address, AccessShape shape, std::uintptr_t instruction) = 0;
  // By the running thread, which is about to touch something in that object. It may not return.
  virtual void misalignment(const Misalignment&, std::uintptr_t /*instruction*/) {}
  // The last instruction by which this thread touched memory, if it is known; else 0.
  virtual std::uintptr_t last_access(const ThreadState&) const { return 0; }
  virtual void exit_thread(ThreadState&) {}

  // All of its threads have come to a barrier that they are about to leave.
  virtual void pass_barrier(ThreadBlock&) {}
  virtual void pass_grid_barrier() {}
  // These lanes have come to the same warp-wide operation, a barrier if it orders memory.
  virtual void pass_collective(ThreadBlock&, unsigned /*warp*/, std::uint32_t /*lanes*/,
                               const Collective&) {}

  // What a thread has done when it releases `object`, such as an mbarrier where it arrives, is
  // known to whoever acquires it, having waited there, after a phase of it has ended since.
  virtual void release(ThreadState&, const void* /*object*/) {}
  virtual void end_phase(ThreadBlock&, const void* /*object*/) {}
  virtual void acquire(ThreadState&, const void* /*object*/) {}

  // An asynchronous copy was asked for; its bytes arrive (and are written) later, by finish_copy. A
  // thread finishes its own; bulk copies are finished by one that waits.
  virtual void begin_copy(ThreadState&, const AsyncCopy&) {}
  virtual void finish_copy(ThreadState&, const AsyncCopy&) {}
};

// Who is told of what the running kernel does to memory; null in all other code, even if it runs on
// behalf of a kernel. (The linker may give other code inline functions that were compiled with a
// kernel, so that they tell of their accesses, too.)
extern constinit thread_local Observer* kernel_observer;

// Code that is not the kernel's, called by it.
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
