#pragma once

// Warps that put every function of <kernel_ptx.h> to the test: what comes out on a GPU is held
// against what the executor makes of it. One source, for both.

#include <kernel_dialect.h>

#include <span>

#include "verify/simt/hardware/probe_inputs.h"

namespace recto::simt {

// How a probe's results may be held against each other.
enum class ProbeKind {
  kExact,    // bit for bit
  kProduct,  // fp32 sums of a matrix product, which CUDA leaves open
  kExp2,     // fp32, within the error that is documented
  kTanh,
};

// A warp reads so many words of its trial and writes as many.
struct Probe {
  const char* name = nullptr;
  ProbeKind kind = ProbeKind::kExact;
  ProbeInput input = ProbeInput::kBits;
  int words_in = 0;
  int words_out = 0;
  int depth = 0;                // of products: how many are summed
  int compute_capability = 80;  // at least, in tenths
  // What is compiled for older cards, too, has none of the instructions of later ones.
  bool is_compiled = true;
  // One warp for each of `trials`: `in` is [trials, words_in], `out` [trials, words_out], in device
  // memory. What was wrong, or null.
  const char* (*launch)(int trials, const unsigned* in, unsigned* out,
                        KernelStream stream) = nullptr;
};

std::span<const Probe> probes();

// Why a card of that compute capability, in tenths, is not asked; or null.
inline const char* why_not_run(const Probe& probe, int compute_capability) {
  if (compute_capability < probe.compute_capability) return "the card is too old";
  return probe.is_compiled ? nullptr : "compiled for older cards, too";
}

}  // namespace recto::simt
