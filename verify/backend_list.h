#pragma once

// Every implementation that recto has, by name: the reference's own, the kernels of cuda/ and the
// host API that launches them. Who adds an entry adds no test code: laws, the oracle and the
// command line take what stands here, and a kernel that does not is a test's failure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "verify/backend.h"
#include "verify/law.h"

namespace recto::verify {

enum class BackendKind : std::uint8_t {
  kReference,
  kExecutor,
  kHostApi,
  kGpu,
  kLibrary,  // of other people: in no list
};

constexpr const char* backend_kind_name(BackendKind kind) {
  constexpr const char* kNames[] = {"reference", "executor", "host-api", "gpu", "library"};
  return kNames[static_cast<int>(kind)];
}

struct ListedBackend {
  Backend backend = {};  // its name is the one in the list
  BackendKind kind = BackendKind::kReference;
  std::string about = {};  // one line
  // The one of cuda/ that it launches, as cuda/instantiations.h names it; empty: as it chooses, or
  // none.
  std::string kernel = {};
  // Which are about it alone, beside those of attention. Who moves K and V about has these, and no
  // run(); there are some wherever this program has the kernel, with or without a GPU.
  std::vector<Law> laws = {};
  // Why this program cannot run it on this machine; such a backend skips every case with that.
  std::optional<std::string> why_not_here = {};
};

// Kernels stand in it twice: as the executor runs them on the CPU, and as "NAME@gpu". A program is
// linked with one of the two builds; the other one is listed with why it is not there. On the
// executor a call that is made again, with nothing between, takes another schedule of threads.
std::vector<ListedBackend> backend_list();

// Those of these names, which are of backends or of kinds, in the order of the list; all without
// names. Invalid input that names what is known.
Result<std::vector<ListedBackend>> choose_backends(const std::vector<ListedBackend>& list,
                                                   const std::vector<std::string>& names);

}  // namespace recto::verify
