#include "verify/simt/hardware/probes.h"

#include <kernel_ptx.h>

// Instructions of sm_90; the host compilation of nvcc sees their names, but does not call them.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define RECTO_PROBES_SM_90 1
#else
#define RECTO_PROBES_SM_90 0
#endif

namespace recto::simt {
namespace {

constexpr int kLanes = 32;
constexpr unsigned kUntouched = 0xa5a5a5a5;

// Copies of kBytes by each lane; if kPartial, some read fewer. Another lane reports what a lane
// received.
template <int kBytes, bool kPartial>
struct CopyAsync {
  static constexpr int kWords = kBytes / 4;
  static constexpr int kWordsIn = kLanes * (kWords + 1);
  static constexpr int kWordsOut = kLanes * kWords;

  static __device__ void copy(void* to, const void* from, unsigned bytes) {
    if constexpr (kBytes == 4) kPartial ? copy_async_4(to, from, bytes) : copy_async_4(to, from);
    if constexpr (kBytes == 8) kPartial ? copy_async_8(to, from, bytes) : copy_async_8(to, from);
    if constexpr (kBytes == 16) {
      kPartial ? copy_async_16(to, from, bytes) : copy_async_16(to, from);
    }
  }

  static __device__ void run(const unsigned* in, unsigned* out) {
    KERNEL_SHARED_ALIGNED(16, unsigned, words, [2][kLanes * kWords]);
    const unsigned lane = threadIdx.x;
    const unsigned bytes = in[kLanes * kWords + lane] % (kBytes + 1);
    for (int i = 0; i < kWords; ++i) {
      words[0][lane * kWords + i] = kUntouched;
      words[1][lane * kWords + i] = kUntouched;
    }
    copy(&words[0][lane * kWords], in + lane * kWords, bytes);
    commit_copies();
    copy(&words[1][lane * kWords], in + (lane ^ 3) * kWords, bytes);
    commit_copies();
    wait_for_copies<1>();
    __syncwarp();
    unsigned early[kWords];
    for (int i = 0; i < kWords; ++i) early[i] = words[0][(lane ^ 1) * kWords + i];
    wait_for_all_copies();
    __syncwarp();
    for (int i = 0; i < kWords; ++i) {
      out[lane * kWords + i] = early[i] ^ (words[1][(lane ^ 5) * kWords + i] >> 1);
    }
  }
};

template <int kMatrices, bool kTransposed>
struct LoadMatrix {
  static constexpr int kWordsIn = 4 * kLanes;
  static constexpr int kWordsOut = kMatrices * kLanes;

  static __device__ void load(unsigned (&fragment)[kMatrices], const void* row) {
    if constexpr (kMatrices == 1) {
      kTransposed ? load_matrix_transposed_x1(fragment, row) : load_matrix_x1(fragment, row);
    } else if constexpr (kMatrices == 2) {
      kTransposed ? load_matrix_transposed_x2(fragment, row) : load_matrix_x2(fragment, row);
    } else {
      kTransposed ? load_matrix_transposed_x4(fragment, row) : load_matrix_x4(fragment, row);
    }
  }

  static __device__ void run(const unsigned* in, unsigned* out) {
    KERNEL_SHARED_ALIGNED(16, unsigned, words, [4 * kLanes]);
    const unsigned lane = threadIdx.x;
    for (int i = 0; i < 4; ++i) words[i * kLanes + lane] = in[i * kLanes + lane];
    __syncwarp();
    unsigned fragment[kMatrices];
    load(fragment, &words[(lane * 5 % kLanes) * 4]);  // rows in another order
    for (int i = 0; i < kMatrices; ++i) out[lane * kMatrices + i] = fragment[i];
  }
};

// Faults that tests plant: swapped registers, of A (1) or of the sums (2).
#if !defined(RECTO_PROBES_SWAP)
#define RECTO_PROBES_SWAP 0
#endif
constexpr int kSwapA = RECTO_PROBES_SWAP == 1 ? 1 : 0;
constexpr int kSwapSums = RECTO_PROBES_SWAP == 2 ? 1 : 0;

template <typename T, int kDepth>
struct Multiply {
  static constexpr int kWordsOfA = kDepth / 4;
  static constexpr int kWordsOfB = kDepth / 8;
  static constexpr int kWordsIn = kLanes * (kWordsOfA + kWordsOfB + 4);
  static constexpr int kWordsOut = kLanes * 4;

  static __device__ void run(const unsigned* in, unsigned* out) {
    const unsigned lane = threadIdx.x;
    unsigned a[kWordsOfA];
    unsigned b[kWordsOfB];
    float sum[4];
    for (int i = 0; i < kWordsOfA; ++i) a[i] = in[lane * kWordsOfA + (i ^ kSwapA)];
    in += kLanes * kWordsOfA;
    for (int i = 0; i < kWordsOfB; ++i) b[i] = in[lane * kWordsOfB + i];
    in += kLanes * kWordsOfB;
    for (int i = 0; i < 4; ++i) sum[i] = __uint_as_float(in[lane * 4 + i]);
    if constexpr (kDepth == 16) {
      multiply_accumulate_m16n8k16<T>(sum, a, b);
    } else {
      multiply_accumulate_m16n8k8<T>(sum, a, b);
    }
    for (int i = 0; i < 4; ++i) out[lane * 4 + i] = __float_as_uint(sum[i ^ kSwapSums]);
  }
};

struct Exp2 {
  static constexpr int kWordsIn = kLanes;
  static constexpr int kWordsOut = kLanes;
  static __device__ void run(const unsigned* in, unsigned* out) {
    out[threadIdx.x] = __float_as_uint(fast_exp2(__uint_as_float(in[threadIdx.x])));
  }
};

struct Tanh {
  static constexpr int kWordsIn = kLanes;
  static constexpr int kWordsOut = kLanes;
  static __device__ void run(const unsigned* in, unsigned* out) {
    out[threadIdx.x] = __float_as_uint(fast_tanh(__uint_as_float(in[threadIdx.x])));
  }
};

// Two tiles in turn, two rounds each, by bulk copies; each lane reads what the copies brought.
struct CopyBulk {
  static constexpr int kRounds = 4;
  static constexpr int kWordsIn = kRounds * kLanes;
  static constexpr int kWordsOut = kRounds * kLanes;
  static __device__ void run(const unsigned* in, unsigned* out) {
#if RECTO_PROBES_SM_90
    KERNEL_SHARED_ALIGNED(16, unsigned, tiles, [2][kLanes]);
    KERNEL_SHARED(Mbarrier, full, [2]);
    const unsigned lane = threadIdx.x;
    if (lane < 2) init_mbarrier(&full[lane], 1);
    if (lane < 2) fence_async_proxy();
    __syncwarp();
    for (int round = 0; round < kRounds; ++round) {
      const int tile = round % 2;
      if (lane == 0) {
        arrive_expecting(&full[tile], kLanes * sizeof(unsigned));
        copy_bulk(tiles[tile], in + round * kLanes, kLanes * sizeof(unsigned), &full[tile]);
      }
      wait_at_mbarrier(&full[tile], round / 2 % 2);
      out[round * kLanes + lane] = tiles[tile][kLanes - 1 - lane];
      __syncwarp();
    }
    if (lane < 2) invalidate_mbarrier(&full[lane]);
#endif
  }
};

// All lanes but the last arrive, and the last one reads what they wrote; also the results of tests
// for phases that have ended, or have not.
struct Arrive {
  static constexpr int kWordsIn = kLanes;
  static constexpr int kWordsOut = 4;
  static __device__ void run(const unsigned* in, unsigned* out) {
#if RECTO_PROBES_SM_90
    KERNEL_SHARED(unsigned, words, [kLanes]);
    KERNEL_SHARED(Mbarrier, ready);
    const unsigned lane = threadIdx.x;
    if (lane == 0) init_mbarrier(&ready, kLanes - 1);
    __syncwarp();
    if (lane == kLanes - 1) {
      out[0] = try_mbarrier(&ready, 1) ? 1 : 0;  // the phase before the first one
      out[1] = try_mbarrier(&ready, 0) ? 1 : 0;
    }
    __syncwarp();
    words[lane] = in[lane];
    if (lane < kLanes - 1) {
      arrive_at_mbarrier(&ready);
      return;
    }
    wait_at_mbarrier(&ready, 0);
    unsigned sum = 0;
    for (const unsigned word : words) sum += word;
    out[2] = sum;
    out[3] = try_mbarrier(&ready, 1) ? 1 : 0;
#endif
  }
};

template <typename Body>
__global__ void probe(const unsigned* in, unsigned* out) {
  Body::run(in + blockIdx.x * Body::kWordsIn, out + blockIdx.x * Body::kWordsOut);
}

template <typename Body>
const char* launch(int trials, const unsigned* in, unsigned* out, KernelStream stream) {
  const KernelLaunch how = {
      .grid = dim3(static_cast<unsigned>(trials)), .block = dim3(kLanes), .stream = stream};
  return launch_kernel("probe", how, probe<Body>, in, out).error;
}

template <typename Body>
Probe make(const char* name, ProbeKind kind = ProbeKind::kExact,
           ProbeInput input = ProbeInput::kBits) {
  return {.name = name,
          .kind = kind,
          .input = input,
          .words_in = Body::kWordsIn,
          .words_out = Body::kWordsOut,
          .launch = launch<Body>};
}

template <typename Body>
Probe make_sm_90(const char* name) {
  Probe probe = make<Body>(name);
  probe.compute_capability = 90;
  probe.is_compiled = kHasBulkCopies;
  return probe;
}

template <typename T, int kDepth>
Probe make_product(const char* name, ProbeInput input) {
  const bool is_small = input == ProbeInput::kSmallHalves || input == ProbeInput::kSmallBfloat16s;
  using Body = Multiply<T, kDepth>;
  Probe probe = make<Body>(name, is_small ? ProbeKind::kExact : ProbeKind::kProduct, input);
  probe.depth = kDepth;
  return probe;
}

}  // namespace

std::span<const Probe> probes() {
  static const Probe kProbes[] = {
      make<CopyAsync<4, false>>("copy_async_4"),
      make<CopyAsync<8, false>>("copy_async_8"),
      make<CopyAsync<16, false>>("copy_async_16"),
      make<CopyAsync<4, true>>("copy_async_4 of fewer bytes"),
      make<CopyAsync<8, true>>("copy_async_8 of fewer bytes"),
      make<CopyAsync<16, true>>("copy_async_16 of fewer bytes"),
      make<LoadMatrix<1, false>>("load_matrix_x1"),
      make<LoadMatrix<2, false>>("load_matrix_x2"),
      make<LoadMatrix<4, false>>("load_matrix_x4"),
      make<LoadMatrix<1, true>>("load_matrix_transposed_x1"),
      make<LoadMatrix<2, true>>("load_matrix_transposed_x2"),
      make<LoadMatrix<4, true>>("load_matrix_transposed_x4"),
      make_product<__half, 16>("multiply_accumulate_m16n8k16 of half", ProbeInput::kHalves),
      make_product<__half, 16>("multiply_accumulate_m16n8k16 of small half",
                               ProbeInput::kSmallHalves),
      make_product<__half, 8>("multiply_accumulate_m16n8k8 of half", ProbeInput::kHalves),
      make_product<__half, 8>("multiply_accumulate_m16n8k8 of small half",
                              ProbeInput::kSmallHalves),
      make_product<__nv_bfloat16, 16>("multiply_accumulate_m16n8k16 of bfloat16",
                                      ProbeInput::kBfloat16s),
      make_product<__nv_bfloat16, 16>("multiply_accumulate_m16n8k16 of small bfloat16",
                                      ProbeInput::kSmallBfloat16s),
      make_product<__nv_bfloat16, 8>("multiply_accumulate_m16n8k8 of bfloat16",
                                     ProbeInput::kBfloat16s),
      make_product<__nv_bfloat16, 8>("multiply_accumulate_m16n8k8 of small bfloat16",
                                     ProbeInput::kSmallBfloat16s),
      make<Exp2>("fast_exp2", ProbeKind::kExp2, ProbeInput::kFloats),
      make<Tanh>("fast_tanh", ProbeKind::kTanh, ProbeInput::kFloats),
      make_sm_90<CopyBulk>("copy_bulk"),
      make_sm_90<Arrive>("mbarrier"),
  };
  return kProbes;
}

}  // namespace recto::simt
