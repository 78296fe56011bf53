// Runs the probes on a GPU and prints the results. Without a GPU, it says so.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "verify/simt/hardware/probe_inputs.h"
#include "verify/simt/hardware/probe_lines.h"
#include "verify/simt/hardware/probes.h"

namespace recto::simt {
namespace {

int fail(const char* name, const char* what) {
  std::printf("FAILED: %s: %s\n", name, what);
  return 1;
}

unsigned* managed(std::size_t words) {
  void* memory = nullptr;
  const cudaError_t error = cudaMallocManaged(&memory, words * sizeof(unsigned));
  return error == cudaSuccess ? static_cast<unsigned*>(memory) : nullptr;
}

int run(const Probe& probe) {
  const std::vector<unsigned> inputs = probe_inputs(probe.input, kProbeTrials, probe.words_in);
  const std::size_t outputs = std::size_t{kProbeTrials} * static_cast<unsigned>(probe.words_out);
  unsigned* in = managed(inputs.size());
  unsigned* out = managed(outputs);
  if (in == nullptr || out == nullptr) return fail(probe.name, "no memory");
  std::copy(inputs.begin(), inputs.end(), in);
  std::fill(out, out + outputs, 0);
  if (const char* error = probe.launch(kProbeTrials, in, out, nullptr)) {
    return fail(probe.name, error);
  }
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) return fail(probe.name, cudaGetErrorString(error));
  print_probe(probe, "gpu", out, probe.words_out);
  cudaFree(in);
  cudaFree(out);
  return 0;
}

int run_all() {
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) return fail("device 0", "no properties");
  const int capability = 10 * device.major + device.minor;
  std::printf("# %s, compute capability %d.%d\n", device.name, device.major, device.minor);
  int failures = 0;
  for (const Probe& probe : probes()) {
    if (const char* why = why_not_run(probe, capability)) {
      std::printf("SKIPPED: %s: needs compute capability %d.%d: %s\n", probe.name,
                  probe.compute_capability / 10, probe.compute_capability % 10, why);
    } else {
      failures += run(probe);
    }
  }
  return failures;
}

}  // namespace
}  // namespace recto::simt

int main() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return recto::simt::run_all();
  std::printf("SKIPPED: hardware_test: no GPU: %s\n", cudaGetErrorString(error));
  return 0;
}
