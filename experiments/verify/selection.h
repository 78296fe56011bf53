#pragma once

// Chooses the laws, and the backends to test: those of the list, or the functions of a user's
// kernel library.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/cases/case_filter.h"
#include "experiments/cases/declared_numerics.h"
#include "experiments/support/command.h"
#include "verify/backend_list.h"
#include "verify/law.h"
#include "verify/library/cuda_source/library_builder.h"
#include "verify/library/kernel_library_backends.h"
#include "verify/own_process.h"

namespace recto::experiments {

// The default time limit of one call of a library that is built from CUDA sources. The executor is
// slow, and has its own limits for kernels that never end.
inline constexpr std::int64_t kSourcesLimitMs = 120'000;

struct SelectionFlags {
  std::string backends = {};  // lists, as flags take them; empty: all
  std::string laws = {};
  // The flag or file that named them, for messages.
  std::string backends_named_by = "--backend";
  std::string laws_named_by = "--law";
  // A user's kernels, instead of the list of backends: a shared library, or CUDA sources with the
  // adapter that makes them a library.
  std::string kernel = {};
  verify::CudaSource cuda = {};
  // Whether their author promises that a row's bits depend only on its visible keys.
  bool is_batch_invariant = false;
  std::optional<double> time_limit_s = {};  // of one call, KernelLibraryOptions::time_limit_ms
  std::optional<std::int64_t> caller = {};  // a socket, at whose other end calls are answered
  CaseFilter filter = {};
  reference::DeclaredNumerics numerics = {};

  bool has_library() const { return !kernel.empty() || !cuda.adapter.empty() || caller; }
  // The flags of the library, each preceded by a space.
  std::string library_text() const;
};

// Add --backend, which `about` explains, and --law; both complete known names.
void add_backend_flag(Command& command, SelectionFlags& flags, const std::string& about);
void add_law_flag(Command& command, SelectionFlags& flags);

// Adds --kernel, --cuda and the flags that belong to it.
void add_library_flags(Command& command, SelectionFlags& flags);

struct Selection {
  std::shared_ptr<const verify::BuiltLibrary> built;  // of CUDA sources; backends run it
  std::vector<verify::ListedBackend> backends;
  std::vector<verify::Law> laws;  // the oracle's comparison last, but for a library's own
  // LibraryUnderTest::set_write_observer, of a library.
  std::function<void(verify::WriteObserver)> set_write_observer = {};

  std::vector<verify::Backend> backends_here() const;
};

// Invalid input names the flag and the known values, or the library and its error.
Result<Selection> select_checks(const SelectionFlags& flags);

// The names of the backends that the executor of this program runs.
std::set<std::string> names_on_executor(const Selection& selection);

// The laws, with the checks of the named backends in forked processes: a check that crashes fails,
// as a library's does. The oracle forks for the call alone, without notes, since its outputs may be
// observed.
std::vector<verify::Law> checked_in_forks(std::vector<verify::Law> laws,
                                          const std::set<std::string>& names,
                                          const verify::ForkNotes& notes = {});

// Backends and laws, with their descriptions.
std::string selection_text(const Selection& selection);

}  // namespace recto::experiments
