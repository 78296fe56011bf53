#pragma once

// The output of probes: a line "NAME|MODE|KIND|TRIAL|words in hexadecimal" for each trial.

#include <cstdio>

#include "verify/simt/hardware/probes.h"

namespace recto::simt {

inline constexpr int kProbeTrials = 32;

inline const char* name_of(ProbeKind kind) {
  constexpr const char* kNames[] = {"exact", "product", "exp2", "tanh"};
  return kNames[static_cast<int>(kind)];
}

// `words` is [kProbeTrials, count].
inline void print_probe(const Probe& probe, const char* mode, const unsigned* words, int count) {
  for (int trial = 0; trial < kProbeTrials; ++trial) {
    std::printf("%s|%s|%s|%d|", probe.name, mode, name_of(probe.kind), trial);
    for (int i = 0; i < count; ++i) std::printf("%08x ", words[trial * count + i]);
    std::printf("\n");
  }
}

}  // namespace recto::simt
