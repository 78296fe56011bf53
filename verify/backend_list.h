#pragma once

// Every implementation in recto, by name: the reference's own, the kernels of cuda/ and the host
// API that launches them. Adding an entry needs no test code: laws, the oracle and the command line
// run every entry of this list, and a test fails if a kernel is missing from it.

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
  kPtx,      // as nvcc compiles it, on the PTX executor
  kLibrary,  // third-party: not in backend_list()
};

constexpr const char* backend_kind_name(BackendKind kind) {
  constexpr const char* kNames[] = {"reference", "executor", "host-api", "gpu", "ptx", "library"};
  return kNames[static_cast<int>(kind)];
}

struct ListedBackend {
  Backend backend = {};  // its name is the one in the list
  BackendKind kind = BackendKind::kReference;
  std::string about = {};  // one line
  // The kernel of cuda/ that the backend launches, as named by cuda/instantiations.h; empty if it
  // chooses among kernels, or launches none.
  std::string kernel = {};
  // Laws for this backend only, in addition to those of attention. Backends that move K and V have
  // such laws and no attend(); the laws are listed wherever this program has the kernel, with or
  // without a GPU.
  std::vector<Law> laws = {};
  // Why this program cannot run the backend on this machine; if set, the backend skips every case
  // with this reason.
  std::optional<std::string> why_not_here = {};
};

// Kernels are listed twice: as run on the CPU by the executor, and as "NAME@gpu". A program is
// linked with one of the two builds and lists the other with the reason why it is missing. On the
// executor, repeating a call immediately uses another schedule of threads. The host API is listed
// once more for each target of nvcc, as "ptx-sm80", run by the PTX executor.
std::vector<ListedBackend> backend_list();

// Returns the entries whose name or kind is in `names`, in the order of the list; all entries if
// `names` is empty. For an unknown name, returns invalid input that lists the known ones.
Result<std::vector<ListedBackend>> choose_backends(const std::vector<ListedBackend>& list,
                                                   const std::vector<std::string>& names);

}  // namespace recto::verify
