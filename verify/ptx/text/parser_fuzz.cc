// Parses and decodes any text: an error or a module, never a crash.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "verify/ptx/text/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(recto::ptx::text::parse(text).is_ok());
  return 0;
}
