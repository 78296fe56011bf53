// Runs the probes on the executor and prints the results: matrix products in each of its
// arithmetics, and the inputs of approximate functions.

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdio>
#include <optional>
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

// A probe's output for this input; nothing, after an error message, if it fails.
std::optional<std::vector<unsigned>> output_of(const Probe& probe, const std::vector<unsigned>& in,
                                               const Arithmetic& arithmetic) {
  std::vector<unsigned> out(static_cast<std::size_t>(kProbeTrials * probe.words_out));
  Executor executor({.arithmetic = arithmetic});
  Stream stream(executor);
  const char* error = probe.launch(kProbeTrials, in.data(), out.data(), &stream);
  const LaunchReport& report = stream.synchronise();
  if (error == nullptr && report.passed()) return out;
  std::printf("FAILED: %s: %s\n", probe.name, error ? error : report.text().c_str());
  return std::nullopt;
}

// The error allowed per product, relative to the sum of all magnitudes. Per step, truncation loses
// less than 2^-23 of the largest number for each product, for the accumulator, and for truncating
// the sum: with steps of four or more, 1.5 2^-23 per product. The sum with which it is compared
// loses 2^-24. (Slightly more, because the probe itself sums the magnitudes.)
constexpr float kLossOfProduct = 0x1.001p-22F;

bool print_bounds(const Probe& probe, std::vector<unsigned> in) {
  // Pairs and, at the end of each trial, one accumulator for each sum.
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int place = static_cast<int>(i % static_cast<std::size_t>(probe.words_in));
    in[i] &= place < probe.words_in - probe.words_out ? 0x7fff7fffU : 0x7fffffffU;
  }
  std::optional<std::vector<unsigned>> out = output_of(probe, in, {});
  if (!out) return false;
  for (unsigned& word : *out) {
    const float loss = static_cast<float>(probe.depth) * kLossOfProduct;
    word = std::bit_cast<unsigned>(loss * std::bit_cast<float>(word));
  }
  print_probe(probe, "bound", out->data(), probe.words_out);
  return true;
}

int run(const Probe& probe) {
  const std::vector<unsigned> in = probe_inputs(probe.input, kProbeTrials, probe.words_in);
  if (probe.kind == ProbeKind::kExp2 || probe.kind == ProbeKind::kTanh) {
    print_probe(probe, "input", in.data(), probe.words_in);
  }
  if (probe.kind == ProbeKind::kProduct && !print_bounds(probe, in)) return 1;
  for (const Mode& mode : modes_of(probe.kind)) {
    const std::optional<std::vector<unsigned>> out = output_of(probe, in, mode.arithmetic);
    if (!out) return 1;
    print_probe(probe, mode.name.c_str(), out->data(), probe.words_out);
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
