#pragma once

// Kernels for tests of asynchronous copies and mbarriers, for one thread block of 32 threads unless
// a comment says otherwise.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

// out[i] = in[i] through shared memory; each thread copies one piece of 4, 8 or 16 bytes.
__global__ void copy_pieces(int piece_bytes, const unsigned char* in, unsigned char* out);
// The same with 16 bytes per piece, of which only source_bytes are read.
__global__ void copy_and_fill(unsigned source_bytes, const unsigned char* in, unsigned char* out);
// Four words of zeros, by thread 0: a copy that reads nothing.
__global__ void copy_nothing(unsigned* out);

// Three groups of one copy each; seen[stage] holds a thread's own three words after it has waited
// for all but 2 - stage groups. Memory begins as ones.
__global__ void copy_groups(const unsigned* in /* [32, 3] */, unsigned* seen /* [3, 32, 3] */);

// A pipeline of two buffers over `tiles` tiles of 32 words: out[i] = sum over tiles.
__global__ void sum_tiles_by_cp_async(const unsigned* in, int tiles, unsigned* out);
// The same by bulk copies into two buffers, one mbarrier each.
__global__ void sum_tiles_by_bulk_copies(const unsigned* in, int tiles, unsigned* out);

// All threads but the last arrive and continue; the last one waits, and then reads what they wrote.
__global__ void gather_at_mbarrier(unsigned* out);
// Thread 0 waits before the other threads have requested the copy.
__global__ void wait_before_copy(const unsigned* in, unsigned* out);
// Thread 0 polls.
__global__ void poll_mbarrier(const unsigned* in, unsigned* out);
// seen[0]: before the wait, seen[1]: after it.
__global__ void look_before_waiting(const unsigned* in, unsigned* seen);

// Two threads arrive at each phase, and one continues after the first. The last thread waits for
// that one, and reads what the other wrote before (is_late = 0) or after it. 64 threads.
__global__ void read_after_phase(unsigned is_late, unsigned* out);
// Copies for two phases, requested in the first; the last thread waits for the first, and then
// reads the second's bytes or (is_late = 0) the first's. 64 threads.
__global__ void read_copy_after_phase(unsigned is_late, const unsigned* in, unsigned* out);

enum class CopyFault {
  kNoWait,
  kMisalignedDestination,
  kMisalignedSource,
  kGlobalDestination,
  kBeyondVariable,
  kTooManySourceBytes,
  kNullSource,
  kNoBulkWait,
  kBulkBytes,
  kUninitialisedMbarrier,
  kInitialisedTwice,
  kNoArrivals,
  kTooManyArrivals,
  kOverwrittenMbarrier,
  kUsedAfterInvalidation,
  kMissingArrival,
  kMissingBytes,
};
__global__ void copy_wrongly(CopyFault fault, const unsigned* in, unsigned* out);
