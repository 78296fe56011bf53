#pragma once

// Probes: warps that use every function of <kernel_ptx.h>. Their results on a GPU are compared with
// those on the executor. Both are built from this one source.

#include <kernel_dialect.h>

#include <span>

#include "verify/simt/hardware/probe_inputs.h"

namespace recto::simt {

// How to compare a probe's results.
enum class ProbeKind {
  kExact,    // bit for bit
  kProduct,  // fp32 sums of a matrix product, which CUDA leaves open
  kExp2,     // fp32, within the documented error
  kTanh,
};

// A warp reads `words_in` words of its trial and writes `words_out`.
struct Probe {
  const char* name = nullptr;
  ProbeKind kind = ProbeKind::kExact;
  ProbeInput input = ProbeInput::kBits;
  int words_in = 0;
  int words_out = 0;
  int depth = 0;                // for products: the number of terms in a sum
  int compute_capability = 80;  // at least, in tenths
  // False if the code was also compiled for older cards, which lack the instructions of later ones.
  bool is_compiled = true;
  // Launches one warp for each of `trials`: `in` is [trials, words_in], `out` [trials, words_out],
  // in device memory. Returns the error, or null.
  const char* (*launch)(int trials, const unsigned* in, unsigned* out,
                        KernelStream stream) = nullptr;
};

std::span<const Probe> probes();

// The reason why the probe does not run at that compute capability, in tenths; null if it runs.
inline const char* why_not_run(const Probe& probe, int compute_capability) {
  if (compute_capability < probe.compute_capability) return "the card is too old";
  return probe.is_compiled ? nullptr : "compiled for older cards, too";
}

}  // namespace recto::simt
