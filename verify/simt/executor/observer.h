#pragma once

// Who wants to know what threads do to memory and how they wait for each other: the checks of
// verify/simt/checks. Builds without observed accesses have none.

#include <cstddef>
#include <cstdint>

namespace recto::simt {

class ThreadBlock;
struct ThreadState;

// What an instruction does on behalf of a thread, other than a plain load or store.
struct AsyncCopy {
  const void* source = nullptr;
  void* destination = nullptr;
  std::size_t bytes = 0;  // read; up to destination_bytes the rest is filled with zeros
  std::size_t destination_bytes = 0;
  std::uintptr_t instruction = 0;
};

// Called by OS threads that run thread blocks. Blocks run on one OS thread while there is an
// observer.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begin_block(ThreadBlock& block) = 0;
  virtual void end_block(ThreadBlock& block) = 0;
  // All of its threads have come to a barrier that they are about to leave.
  virtual void pass_barrier(ThreadBlock& block) = 0;
  virtual void pass_grid_barrier() = 0;
  virtual void pass_warp_barrier(ThreadBlock& block, unsigned warp, std::uint32_t lanes) = 0;
  // An asynchronous copy was asked for; its bytes arrive (and are written) later.
  virtual void begin_copy(ThreadState& thread, const AsyncCopy& copy) = 0;
  virtual void finish_copy(ThreadState& thread, const AsyncCopy& copy) = 0;
};

}  // namespace recto::simt
