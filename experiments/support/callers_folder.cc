#include "experiments/support/callers_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string_view>

namespace recto::experiments {

void enter_callers_folder() {
  const char* caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller == nullptr) return;
  char here[4096];
  // A caller that has changed its folder since, such as a script under `bazel run`, means its
  // present one.
  if (getcwd(here, sizeof(here)) == nullptr) return;
  if (std::string_view(here).find(".runfiles/") == std::string_view::npos) return;
  if (chdir(caller) != 0) std::cerr << caller << ": " << std::strerror(errno) << '\n';
}

}  // namespace recto::experiments
