#pragma once

// Tiny kernels that access memory in one way each, rightly or wrongly depending on their arguments.

#include <cstdint>

#include <kernel_dialect.h>

namespace recto::simt {

extern const int kLineOfCopyShifted;
extern const int kLineOfSpin;
extern const int kLineOfExchangeByShuffle;  // it writes there, and reads three lines below

// Bounds, alignment, use.

// out[i] = in[i + shift]
__global__ void copy_shifted(const float* in, float* out, int shift);
__global__ void copy_in_fours(const float* in, float* out, int shift);
__global__ void copy_at(const float* in, float* out, std::int64_t offset);
__global__ void copy_by_memcpy(const float* in, float* out, int count);
__global__ void fill_by_memset(float* out, int count);
// Sums 64 numbers in shared memory, from `first` on; a second variable lies behind them.
__global__ void sum_shared(float* out, int first);
__global__ void sum_dynamic_shared(float* out, int first);
// Adds constants of the program; then changes them, if `change` is not 0.
__global__ void add_constants(float* out, float change);
// Each thread sums its own local numbers, or those of the thread `shift` before it.
__global__ void sum_local(float* out, int shift);
// A pool of pieces of 32 floats; thread block b takes block_table[b + shift].
__global__ void gather_pieces(const float* pool, const int* block_table, float* out, int shift);
__global__ void spin(const int* flag, int* out);
__global__ void pass_baton(int* turns, int* out);

// Races. `barrier`: 0 none, 1 of the warp, 2 of the block.
__global__ void exchange_in_warp(float* out, int barrier);
__global__ void exchange_by_shuffle(float* out, int barrier);
__global__ void exchange_in_block(float* out, int barrier);
__global__ void reuse_shared(float* out, int barrier);
__global__ void exchange_in_half_warps(float* out, unsigned mask);
__global__ void exchange_twice(float* out, int barrier);
// Threads own neighbouring halves or bytes of words; with `shift` they touch each other's.
__global__ void own_halves(std::uint16_t* out, int shift);
__global__ void own_bytes(std::uint8_t* out, int shift);
__global__ void own_halves_of_words(std::uint32_t* words, int is_split);
// All threads add to one number: 0 plainly, 1 atomically, 2 some of each.
__global__ void count_up(int* count, int kind);
__global__ void count_up_in_shared(int* out, int kind);
// With `stride` 0, thread blocks write to the same places.
__global__ void write_by_blocks(float* out, int stride);
__global__ void hand_over_at_grid_barrier(float* data, float* out, int has_barrier);

// Thread 0 hands over to a thread of another warp, which acquires the object or (0) does not.
__global__ void hand_over_by_object(float* out, int is_acquired);

// Initialisation.
__global__ void read_before_write(float* out, int is_written);
__global__ void accumulate(float* out, int is_written);
__global__ void write_some(std::uint8_t* out, int first, int count);
__global__ void read_words(const std::uint32_t* in, std::uint32_t* out);
__global__ void fill_shared_in_loop(float* out, int count);

// Numbers that others may have written: exchanged, and the old value is unused or is added to.
__global__ void exchange_first(int* out, int is_added);

// The place of the missing wait.
enum class MissingWait : std::uint8_t { kNone, kBeforeRead, kBeforeExit, kBarrier };
__global__ void stage(const float* in, float* out, MissingWait missing);
// Thread 1 overwrites the source of thread 0's copy; early: while the copy may still read it.
__global__ void change_source(float* in, float* out, int is_early);
__global__ void copy_to(const float* in, float* out, int to);

}  // namespace recto::simt
