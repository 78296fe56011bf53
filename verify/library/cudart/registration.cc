// What static constructors of host code call: nvcc writes them, for each file.

#include <utility>

#include "verify/library/cudart/device.h"
#include "verify/library/cudart/fat_binary.h"

namespace recto::cudart {
namespace {

RegisteredModule& add_fat_binary(const void* wrapper) {
  Modules& modules = Device::instance().modules();
  Result<std::vector<std::string>> texts = ptx_of(wrapper);
  if (!texts.is_ok()) return modules.add_unusable(texts.status().message());
  if (texts.value().empty()) {
    return modules.add_unusable("device code: expected PTX, found only machine code");
  }
  // Later ones are for later targets.
  return modules.add(std::move(texts.value().back()));
}

RegisteredModule& module_of(void** handle) { return *reinterpret_cast<RegisteredModule*>(handle); }

}  // namespace
}  // namespace recto::cudart

using recto::cudart::Device;

// NOLINTBEGIN: NVIDIA's names and parameters
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(&recto::cudart::add_fat_binary(wrapper));
}

void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}

void __cudaUnregisterFatBinary(void** handle) {
  Device::instance().modules().remove(recto::cudart::module_of(handle));
}

char __cudaInitModule(void** /*handle*/) { return 1; }

void __cudaRegisterFunction(void** handle, const char* host, char* /*function*/, const char* name,
                            int /*thread_limit*/, void* /*thread*/, void* /*block*/,
                            void* /*block_dim*/, void* /*grid_dim*/, int* /*warp_size*/) {
  Device::instance().modules().add_kernel(recto::cudart::module_of(handle), host, name);
}

void __cudaRegisterVar(void** handle, char* host, char* /*address*/, const char* name, int /*ext*/,
                       std::size_t /*bytes*/, int /*constant*/, int /*global*/) {
  Device::instance().modules().add_variable(recto::cudart::module_of(handle), host, name);
}

}  // extern "C"
// NOLINTEND
