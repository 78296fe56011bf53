#!/usr/bin/env python3
"""A paged decode in CUDA C++, compiled by NVRTC without a toolkit or a GPU, and judged as a GPU
would get it: the PTX runs on this machine, with every access checked.

    python nvrtc_decode.py [compute_80 | compute_90a]
"""

import functools
import sys

import numpy as np
from cuda.bindings import nvrtc

import recto

HEAD_DIM, LANES = 64, 32
TARGET = sys.argv[1] if len(sys.argv) > 1 else "compute_80"
CASES = dict(types=["fp32"], layouts=["token-major"], head_dims=[HEAD_DIM], block_sizes=[16],
             equal_head_dims=True, without=["alibi", "sinks", "softcap"], cases=12, seed=1,
             laws=["oracle", "unaddressed_slots"], context_max=100, sequences_max=4, q_heads_max=8)
# One warp for a sequence and query head; each lane has two dims.
SOURCE = r"""
constexpr int kMinusInfinity = 0xff800000;
struct Strides { long long of[3]; };

__device__ float sum_of_warp(float value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(~0u, value, lanes);
  return value;
}

extern "C" __global__ void decode(const float* q, const float* k, const float* v, const int* table,
                                  const int* lengths, float* out, float* lse_ln, float scale,
                                  int window, int max_blocks, int block_size, int group,
                                  Strides of_q, Strides of_k, Strides of_v) {
  const int lane = threadIdx.x, row = blockIdx.x, head = blockIdx.y, length = lengths[row];
  const float* const own_q = q + row * of_q.of[0] + head * of_q.of[1];
  float largest = __int_as_float(kMinusInfinity), total = 0.0f, sums[HEAD_DIM / 32] = {};
  for (int key = max(0, length - window); key < length; ++key) {
    const long long block = table[row * max_blocks + key / block_size];
    const auto address = [&](const float* pool, const Strides& steps) {
      return pool + block * steps.of[0] + key % block_size * steps.of[1] +
             head / group * steps.of[2];
    };
    const float *const own_k = address(k, of_k), *const own_v = address(v, of_v);
    float product = 0.0f;
    for (int d = lane; d < HEAD_DIM; d += 32) product += own_q[d] * own_k[d];
    const float score = sum_of_warp(product) * scale, before = largest;
    largest = fmaxf(largest, score);
    const float kept = expf(before - largest), weight = expf(score - largest);
    total = total * kept + weight;
    for (int i = 0; i < HEAD_DIM / 32; ++i)
      sums[i] = sums[i] * kept + weight * own_v[lane + i * 32];
  }
  const int result = row * gridDim.y + head;
  for (int i = 0; i < HEAD_DIM / 32; ++i)
    out[result * HEAD_DIM + lane + i * 32] = total > 0.0f ? sums[i] / total : 0.0f;
  if (lane == 0) lse_ln[result] = largest + logf(total);
}
"""


def compiled_by_nvrtc(source, *options):
    """The PTX; RuntimeError with the compiler's messages."""

    def answer(result):
        error, *values = result
        if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(nvrtc.nvrtcGetErrorString(error)[1].decode())
        return values[0] if values else None

    def text(get_size, get):
        data = bytes(answer(get_size(program)))
        answer(get(program, data))
        return data

    program = answer(nvrtc.nvrtcCreateProgram(source.encode(), b"decode.cu", 0, [], []))
    encoded = [option.encode() for option in options]
    if nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)[0]:
        raise RuntimeError(text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).decode())
    return text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)


@functools.lru_cache(None)
def kernel():
    options = [f"--gpu-architecture={TARGET}", f"-DHEAD_DIM={HEAD_DIM}", "-lineinfo"]
    return recto.ptx.Module(compiled_by_nvrtc(SOURCE, *options)).kernel()


def attention(call):
    out = np.empty(call.out.shape, np.float32)
    lse_ln = np.empty(call.lse_ln.shape, np.float32)
    if call.num_seqs > 0:
        strides = [tuple(np.int64(step // 4) for step in array.strides[:3])
                   for array in (call.q, call.k_cache, call.v_cache)]
        kernel()[(call.num_seqs, call.num_q_heads), LANES](
            call.q, call.k_cache, call.v_cache, call.block_table, call.context_length,
            recto.ptx.unwritten(out), recto.ptx.unwritten(lse_ln), call.scale,
            call.window or call.max_context_length, call.block_table.strides[0] // 4,
            call.block_size, call.num_q_heads // call.num_kv_heads, *strides)
    return out, lse_ln


if __name__ == "__main__":
    report = recto.verify(decode=attention, **CASES)
    print(report)
    report.raise_for_failures()
