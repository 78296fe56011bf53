// Exits with 0 if each of its files sees the macros that it should see.

#include <iostream>
#include <string_view>

#include "verify/simt/canaries/testdata/told_macros.h"

namespace {

int failures_of(const char* file, std::string_view told, std::string_view expected) {
  if (told == expected) return 0;
  std::cout << file << ": expected '" << expected << "', got '" << told << "'\n";
  return 1;
}

}  // namespace

int main() {
  return failures_of("library", told_in_library(), "told all itself flag") +
         failures_of("kernels", told_in_kernels(), "told all kernels") +
         failures_of("program", TOLD_MACROS, "told all");
}
