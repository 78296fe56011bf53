// A fuzz target with a planted defect, for replay_test.py: fails on an input with "1e309"; PLANTED
// names the kind of failure.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const char* planted = std::getenv("PLANTED");
  if (planted == nullptr || input.find("1e309") == std::string_view::npos) return 0;
  const std::string_view failure = planted;
  if (failure == "abort") std::abort();
  if (failure == "exit") std::exit(0);
  if (failure == "throw") throw std::runtime_error("planted");
  return 0;
}
