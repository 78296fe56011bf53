#pragma once

// Every implementation that recto has, by name: the reference's own, the kernels of cuda/ and the
// host API that launches them. Who adds an entry adds no test code: laws, the oracle and the
// command line take what stands here.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "verify/backend.h"

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
