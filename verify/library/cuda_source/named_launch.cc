// Launches kernels of PTX by name.

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "verify/library/cuda_source/recto_cuda_adapter.h"
#include "verify/library/cudart/device.h"

namespace recto {
namespace {

// What a host program would ask for by cudaFuncSetAttribute.
constexpr std::size_t kSharedBytesMax = std::size_t{227} << 10;

}  // namespace

// Called by the object file that build_cuda_library.py makes of a file of --ptx.
void add_ptx(const char* text);
void add_ptx(const char* text) { cudart::Device::instance().modules().add(text); }

void launch_kernel(const char* kernel, const Dim3& grid, const Dim3& block,
                   std::size_t dynamic_shared_bytes, const std::vector<KernelArgument>& arguments) {
  cudart::Device& device = cudart::Device::instance();
  const Result<cudart::RegisteredKernel*> found = device.modules().kernel_named(kernel);
  if (!found.is_ok()) throw std::runtime_error(found.status().message());
  const auto parameters = found.value()->module->parsed->parameters(found.value()->name);
  const ptx::Program& program = found.value()->decoded->program();
  std::vector<std::byte> bytes(program.parameter_bytes);
  for (std::size_t i = 0; i < std::max(parameters.size(), arguments.size()); ++i) {
    const bool is_scratch = i >= arguments.size() && parameters[i].type == "u64";
    if (is_scratch) continue;
    const auto sizes = [&](const auto& list) { return i < list.size() ? list[i].bytes : 0; };
    if (sizes(parameters) != sizes(arguments)) {
      throw std::runtime_error(
          "kernel '" + std::string(kernel) + "', argument " + std::to_string(i) + ": expected " +
          std::to_string(sizes(parameters)) + " bytes, got " + std::to_string(sizes(arguments)));
    }
    std::memcpy(bytes.data() + program.parameters[i].begin, arguments[i].data, arguments[i].bytes);
  }
  found.value()->dynamic_shared_bytes_max = kSharedBytesMax;
  device.launch(
      *found.value(),
      {.shape = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, dynamic_shared_bytes}},
      std::move(bytes), nullptr);
}

}  // namespace recto
