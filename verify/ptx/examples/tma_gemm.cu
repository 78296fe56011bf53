// d = a b^T by the tensor memory accelerator, mbarriers and wgmma: one tile of 64 x 32 for each
// thread block. A warp fetches tiles of a and b into two stages; a warpgroup multiplies them.

#include <cuda_bf16.h>

namespace {

struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

constexpr int kRows = 64;
constexpr int kColumns = 32;
constexpr int kDepth = 64;
constexpr int kStages = 2;
constexpr int kConsumers = 128;
constexpr unsigned kStageBytes = (kRows + kColumns) * kDepth * sizeof(__nv_bfloat16);

struct alignas(1024) Stage {
  __nv_bfloat16 a[kRows][kDepth];
  __nv_bfloat16 b[kColumns][kDepth];
};
struct Shared {
  Stage stages[kStages];
  alignas(128) float d[kRows][kColumns];
  unsigned long long full[kStages];
  unsigned long long empty[kStages];
};

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void init(unsigned long long* mbarrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(mbarrier)),
               "r"(arrivals)
               : "memory");
}

__device__ void wait(unsigned long long* mbarrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred ended;\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra.uni WAIT;\n}\n" ::"r"(shared_address(mbarrier)),
      "r"(parity)
      : "memory");
}

__device__ void fetch(void* to, const TensorMap& map, int x, int y, unsigned long long* mbarrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
      "l"(&map), "r"(x), "r"(y), "r"(shared_address(mbarrier))
      : "memory");
}

// Swizzled by 128 bytes: eight lines follow one another.
__device__ unsigned long long descriptor(const void* matrix) {
  return (shared_address(matrix) & 0x3ffff) >> 4 | 64ull << 32 | 1ull << 62;
}

__device__ void multiply(float (&sums)[16], unsigned long long a, unsigned long long b, int adds) {
  asm volatile(
      "{\n.reg .pred adds;\nsetp.ne.b32 adds, %18, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "%16, %17, adds, 1, 1, 0, 0;\n}\n"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]),
        "+f"(sums[6]), "+f"(sums[7]), "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]),
        "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15])
      : "l"(a), "l"(b), "r"(adds));
}

__device__ void produce(Shared& shared, const TensorMap& a, const TensorMap& b, int tiles) {
  for (int i = 0; i < tiles; ++i) {
    const int stage = i % kStages;
    if (i >= kStages) wait(shared.empty + stage, i / kStages - 1 & 1);
    unsigned long long* const full = shared.full + stage;
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(full)),
        "r"(kStageBytes)
        : "memory");
    fetch(shared.stages[stage].a, a, i * kDepth, blockIdx.y * kRows, full);
    fetch(shared.stages[stage].b, b, i * kDepth, blockIdx.x * kColumns, full);
  }
}

__device__ void consume(Shared& shared, const TensorMap& d, int tiles) {
  float sums[16];
  for (int i = 0; i < tiles; ++i) {
    const int stage = i % kStages;
    wait(shared.full + stage, i / kStages & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < kDepth; k += 16) {
      multiply(sums, descriptor(&shared.stages[stage].a[0][k]),
               descriptor(&shared.stages[stage].b[0][k]), i + k);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (threadIdx.x % 32 == 0) {
      asm volatile(
          "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(shared.empty + stage))
          : "memory");
    }
  }
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < 16; ++i) {
    const int row = threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8;
    shared.d[row][i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("bar.sync 1, %0;" ::"n"(kConsumers) : "memory");
  if (threadIdx.x != 0) return;
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::"l"(&d),
      "r"(blockIdx.x * kColumns), "r"(blockIdx.y * kRows), "r"(shared_address(shared.d))
      : "memory");
}

}  // namespace

// Grid: columns / 32, rows / 64. `depth` is that of a and b, in elements.
extern "C" __global__ void __launch_bounds__(kConsumers + 32)
    tma_gemm(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
             const __grid_constant__ TensorMap d, int depth) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      init(shared.full + i, 1);
      init(shared.empty + i, kConsumers / 32);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const int tiles = (depth + kDepth - 1) / kDepth;
  if (threadIdx.x >= kConsumers) {
    if (threadIdx.x == kConsumers) produce(shared, a, b, tiles);
  } else {
    consume(shared, d, tiles);
  }
}
