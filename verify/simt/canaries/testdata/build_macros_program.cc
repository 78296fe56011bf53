// Exits with 0 if each of its files sees the macros that it should see.

#include <iostream>
#include <string_view>

#include "verify/simt/canaries/testdata/build_macros.h"

namespace {

int failures_of(const char* file, std::string_view macros, std::string_view expected) {
  if (macros == expected) return 0;
  std::cout << file << ": expected '" << expected << "', got '" << macros << "'\n";
  return 1;
}

}  // namespace

int main() {
  return failures_of("library", macros_in_library(), "macros all itself flag") +
         failures_of("kernels", macros_in_kernels(), "macros all kernels") +
         failures_of("program", BUILD_MACROS, "macros all");
}
