// Runs the probes on the executor and prints what comes out: products in each arithmetic that it
// knows, and what went into functions that are approximate.

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "verify/simt/executor/executor.h"
#include "verify/simt/hardware/probe_inputs.h"
#include "verify/simt/hardware/probe_lines.h"
#include "verify/simt/hardware/probes.h"
#include "verify/simt/streams/stream.h"

namespace recto::simt {
namespace {

struct Mode {
  std::string name;
  Arithmetic arithmetic;
};

std::vector<Mode> modes_of(ProbeKind kind) {
  if (kind != ProbeKind::kProduct) return {{"executor", {}}};
  std::vector<Mode> modes = {{"nearest", {}}};
  for (const unsigned step : {4U, 8U, 16U}) {
    for (const unsigned extra_bits : {0U, 1U, 2U, 3U}) {
      modes.push_back({fmt::format("truncated in steps of {}, {} extra bits", step, extra_bits),
                       {.matrix_sum = MatrixSum::kTruncated,
                        .products_per_step = step,
                        .extra_bits = extra_bits}});
    }
  }
  return modes;
}

int run(const Probe& probe) {
  const std::vector<unsigned> in = probe_inputs(probe.input, kProbeTrials, probe.words_in);
  if (probe.kind == ProbeKind::kExp2 || probe.kind == ProbeKind::kTanh) {
    print_probe(probe, "input", in.data(), probe.words_in);
  }
  for (const Mode& mode : modes_of(probe.kind)) {
    std::vector<unsigned> out(static_cast<std::size_t>(kProbeTrials * probe.words_out));
    Executor executor({.arithmetic = mode.arithmetic});
    Stream stream(executor);
    const char* error = probe.launch(kProbeTrials, in.data(), out.data(), &stream);
    const LaunchReport& report = stream.synchronise();
    if (error != nullptr || !report.passed()) {
      std::printf("FAILED: %s: %s\n", probe.name, error ? error : report.text().c_str());
      return 1;
    }
    print_probe(probe, mode.name.c_str(), out.data(), probe.words_out);
  }
  return 0;
}

int run_all() {
  int failures = 0;
  for (const Probe& probe : probes()) failures += run(probe);
  return failures;
}

}  // namespace
}  // namespace recto::simt

int main() { return recto::simt::run_all(); }
