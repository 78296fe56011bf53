// Parses any text and decodes its kernels: an error or a module, never a crash.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "verify/ptx/module.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const recto::Result<recto::ptx::Module> module = recto::ptx::Module::parse(text);
  if (!module.is_ok()) return 0;
  for (const std::string& name : module.value().kernel_names()) {
    static_cast<void>(module.value().kernel(name).is_ok());
  }
  return 0;
}
