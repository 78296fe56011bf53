#pragma once

// Launches kernels.
//
//   Result<Module> module = Module::parse(text);
//   Result<Kernel> kernel = module.value().kernel("scale");
//   DeviceMemory memory;
//   memory.add("x", x.data(), x.size() * sizeof(float));
//   LaunchReport report = launch(kernel.value(), {.grid = {4}, .block = {128}},
//                                Arguments().add(x.data()).add(2.0F), memory,
//                                {.checks = Checks::all()});

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "verify/ptx/arithmetic/tensor_map.h"
#include "verify/ptx/machine/device_memory.h"
#include "verify/ptx/machine/launch_options.h"
#include "verify/ptx/module.h"

namespace recto::ptx {

// Arguments of a kernel, laid out as its parameters are. A CUtensorMap is what encode_tiled()
// gives.
class Arguments {
 public:
  Arguments() = default;
  explicit Arguments(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  template <typename T>
  Arguments& add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t offset = (bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    bytes_.resize(offset + sizeof(T));
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
    return *this;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Runs the kernel to its end, or to the first finding that forbids to go on. Never crashes,
// whatever the kernel does.
LaunchReport launch(const Kernel& kernel, const LaunchShape& shape, const Arguments& arguments,
                    const DeviceMemory& memory, const LaunchOptions& options);

}  // namespace recto::ptx
