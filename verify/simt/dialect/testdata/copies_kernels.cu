#include "verify/simt/dialect/testdata/copies_kernels.cuh"

__global__ void copy_pieces(int piece_bytes, const unsigned char* in, unsigned char* out) {
  KERNEL_SHARED_ALIGNED(16, unsigned char, buffer, [32 * 16]);
  const int at = static_cast<int>(threadIdx.x) * piece_bytes;
  if (piece_bytes == 4) copy_async_4(buffer + at, in + at);
  if (piece_bytes == 8) copy_async_8(buffer + at, in + at);
  if (piece_bytes == 16) copy_async_16(buffer + at, in + at);
  wait_for_all_copies();
  for (int i = 0; i < piece_bytes; ++i) out[at + i] = buffer[at + i];
}

__global__ void copy_and_fill(unsigned source_bytes, const unsigned char* in, unsigned char* out) {
  KERNEL_SHARED_ALIGNED(16, unsigned char, buffer, [32 * 16]);
  const unsigned at = threadIdx.x * 16;
  copy_async_16(buffer + at, in + at, source_bytes);
  commit_copies();
  wait_for_copies<0>();
  for (unsigned i = 0; i < 16; ++i) out[at + i] = buffer[at + i];
}

__global__ void copy_nothing(unsigned* out) {
  KERNEL_SHARED_ALIGNED(16, unsigned, words, [4]);
  if (threadIdx.x != 0) return;
  copy_async_16(words, nullptr, 0);
  wait_for_all_copies();
  for (int i = 0; i < 4; ++i) out[i] = words[i];
}

__global__ void copy_groups(const unsigned* in, unsigned* seen) {
  KERNEL_SHARED(unsigned, words, [32][3]);
  unsigned* own = words[threadIdx.x];
  for (int i = 0; i < 3; ++i) {
    copy_async_4(own + i, in + threadIdx.x * 3 + i);
    commit_copies();
  }
  for (int stage = 0; stage < 3; ++stage) {
    if (stage == 0) wait_for_copies<2>();
    if (stage == 1) wait_for_copies<1>();
    if (stage == 2) wait_for_copies<0>();
    for (int i = 0; i < 3; ++i) seen[(stage * 32 + threadIdx.x) * 3 + i] = own[i];
  }
}

__global__ void sum_tiles_by_cp_async(const unsigned* in, int tiles, unsigned* out) {
  KERNEL_SHARED(unsigned, buffers, [2][32]);
  const unsigned thread = threadIdx.x;
  copy_async_4(&buffers[0][thread], in + thread);
  commit_copies();
  unsigned sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      copy_async_4(&buffers[(tile + 1) % 2][thread], in + (tile + 1) * 32 + thread);
    }
    commit_copies();  // an empty group at the end
    wait_for_copies<1>();
    __syncthreads();
    sum += buffers[tile % 2][31 - thread];
    __syncthreads();
  }
  out[thread] = sum;
}

__global__ void sum_tiles_by_bulk_copies(const unsigned* in, int tiles, unsigned* out) {
  KERNEL_SHARED_ALIGNED(16, unsigned, buffers, [2][32]);
  KERNEL_SHARED(Mbarrier, full, [2]);
  constexpr unsigned kTileBytes = 32 * sizeof(unsigned);
  const unsigned thread = threadIdx.x;
  if (thread == 0) {
    init_mbarrier(&full[0], 1);
    init_mbarrier(&full[1], 1);
    fence_async_proxy();
  }
  __syncthreads();
  for (int tile = 0; tile < 2 && tile < tiles && thread == 0; ++tile) {
    arrive_expecting(&full[tile], kTileBytes);
    copy_bulk(buffers[tile], in + tile * 32, kTileBytes, &full[tile]);
  }
  unsigned sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const int buffer = tile % 2;
    wait_at_mbarrier(&full[buffer], static_cast<unsigned>(tile / 2 % 2));
    sum += buffers[buffer][31 - thread];
    __syncthreads();
    if (thread == 0 && tile + 2 < tiles) {
      arrive_expecting(&full[buffer], kTileBytes);
      copy_bulk(buffers[buffer], in + (tile + 2) * 32, kTileBytes, &full[buffer]);
    }
  }
  out[thread] = sum;
}

__global__ void gather_at_mbarrier(unsigned* out) {
  KERNEL_SHARED(Mbarrier, ready);
  KERNEL_SHARED(unsigned, words, [32]);
  if (threadIdx.x == 0) {
    init_mbarrier(&ready, 31);
    wait_at_mbarrier(&ready, 1);  // the phase before the first counts as ended
  }
  __syncthreads();
  if (threadIdx.x < 31) {
    words[threadIdx.x] = threadIdx.x;
    arrive_at_mbarrier(&ready);
    return;
  }
  wait_at_mbarrier(&ready, 0);
  unsigned sum = 0;
  for (int i = 0; i < 31; ++i) sum += words[i];
  out[0] = sum;
  invalidate_mbarrier(&ready);
}

__global__ void wait_before_copy(const unsigned* in, unsigned* out) {
  KERNEL_SHARED(Mbarrier, ready);
  KERNEL_SHARED_ALIGNED(16, unsigned, words, [4]);
  if (threadIdx.x == 31) init_mbarrier(&ready, 1);
  __syncthreads();
  if (threadIdx.x == 31) {
    copy_bulk(words, in, 16, &ready);  // faster than its announcement
    arrive_expecting(&ready, 16);
  }
  if (threadIdx.x == 0) {
    wait_at_mbarrier(&ready, 0);
    for (int i = 0; i < 4; ++i) out[i] = words[i];
  }
}

__global__ void poll_mbarrier(const unsigned* in, unsigned* out) {
  KERNEL_SHARED(Mbarrier, ready);
  KERNEL_SHARED_ALIGNED(16, unsigned, words, [4]);
  if (threadIdx.x == 0) init_mbarrier(&ready, 1);
  __syncthreads();
  if (threadIdx.x == 31) {
    arrive_expecting(&ready, 16);
    copy_bulk(words, in, 16, &ready);
  }
  if (threadIdx.x == 0) {
    while (!try_mbarrier(&ready, 0)) {
    }
    for (int i = 0; i < 4; ++i) out[i] = words[i];
  }
}

__global__ void look_before_waiting(const unsigned* in, unsigned* seen) {
  KERNEL_SHARED(unsigned, word);
  if (threadIdx.x != 0) return;
  copy_async_4(&word, in);
  commit_copies();
  seen[0] = word;
  wait_for_copies<0>();
  seen[1] = word;
}

__global__ void read_after_phase(unsigned is_late, unsigned* out) {
  KERNEL_SHARED(Mbarrier, ready);
  KERNEL_SHARED(unsigned, words, [2]);
  if (threadIdx.x == 0) init_mbarrier(&ready, 2);
  __syncthreads();
  if (threadIdx.x == 0) {
    words[0] = 1;
    arrive_at_mbarrier(&ready);
    wait_at_mbarrier(&ready, 0);
    words[1] = 2;
    arrive_at_mbarrier(&ready);
  }
  if (threadIdx.x == 32) arrive_at_mbarrier(&ready);
  if (threadIdx.x == 63) {
    wait_at_mbarrier(&ready, 0);
    out[0] = words[is_late];
  }
}

__global__ void read_copy_after_phase(unsigned is_late, const unsigned* in, unsigned* out) {
  KERNEL_SHARED_ALIGNED(16, unsigned, words, [2][4]);
  KERNEL_SHARED(Mbarrier, full);
  KERNEL_SHARED(Mbarrier, seen);
  if (threadIdx.x == 0) {
    init_mbarrier(&full, 1);
    init_mbarrier(&seen, 1);
    fence_async_proxy();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expecting(&full, 16);
    copy_bulk(words[0], in, 16, &full);
    copy_bulk(words[1], in + 4, 16, &full);
    wait_at_mbarrier(&full, 0);
    wait_at_mbarrier(&seen, 0);
    arrive_expecting(&full, 16);
    wait_at_mbarrier(&full, 1);
  }
  if (threadIdx.x == 63) {
    wait_at_mbarrier(&full, 0);
    arrive_at_mbarrier(&seen);
    for (int i = 0; i < 8; ++i) try_mbarrier(&seen, 1);  // orders nothing, and takes some time
    out[0] = words[is_late][0];
  }
}

namespace {

__device__ void copy_async_wrongly(CopyFault fault, const unsigned* in, unsigned* out,
                                   unsigned* words /* [32] */) {
  if (fault == CopyFault::kNoWait) {
    copy_async_4(words, in);
    commit_copies();
    wait_for_copies<1>();
  }
  if (fault == CopyFault::kMisalignedDestination) copy_async_8(words + 1, in);
  if (fault == CopyFault::kMisalignedSource) copy_async_16(words, in + 1);
  if (fault == CopyFault::kGlobalDestination) copy_async_4(out, in);
  if (fault == CopyFault::kBeyondVariable) copy_async_16(words + 32, in);
  if (fault == CopyFault::kTooManySourceBytes) copy_async_4(words, in, 5);
  if (fault == CopyFault::kNullSource) copy_async_4(words, nullptr);
}

__device__ void copy_in_bulk_wrongly(CopyFault fault, const unsigned* in, unsigned* words,
                                     Mbarrier* ready) {
  if (fault == CopyFault::kUninitialisedMbarrier) arrive_at_mbarrier(ready);
  if (fault == CopyFault::kNoArrivals) init_mbarrier(ready, 0);
  init_mbarrier(ready, fault == CopyFault::kMissingArrival ? 2 : 1);
  if (fault == CopyFault::kInitialisedTwice) init_mbarrier(ready, 1);
  if (fault == CopyFault::kOverwrittenMbarrier) *ready = 0;
  if (fault == CopyFault::kUsedAfterInvalidation) invalidate_mbarrier(ready);
  if (fault == CopyFault::kBulkBytes) copy_bulk(words, in, 24, ready);
  arrive_expecting(ready, fault == CopyFault::kMissingBytes ? 32 : 16);
  if (fault == CopyFault::kTooManyArrivals) arrive_at_mbarrier(ready);
  copy_bulk(words, in, 16, ready);
  if (fault != CopyFault::kNoBulkWait) wait_at_mbarrier(ready, 0);
}

}  // namespace

__global__ void copy_wrongly(CopyFault fault, const unsigned* in, unsigned* out) {
  KERNEL_SHARED_ALIGNED(16, unsigned, words, [32]);
  KERNEL_SHARED(Mbarrier, ready);
  if (threadIdx.x != 0) return;
  if (fault < CopyFault::kNoBulkWait) {
    copy_async_wrongly(fault, in, out, words);
  } else {
    copy_in_bulk_wrongly(fault, in, words, &ready);
  }
}
