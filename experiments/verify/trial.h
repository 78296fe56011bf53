#pragma once

// What is put to which laws: backends of the list, or the functions of a user's kernel library.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/command.h"
#include "verify/backend_list.h"
#include "verify/law.h"
#include "verify/library/cuda_source/library_builder.h"
#include "verify/library/kernel_library_backends.h"
#include "verify/own_process.h"

namespace recto::experiments {

// The time limit of one call of a library that is built from CUDA sources, where none is given. The
// executor is slow, and has bounds of its own on kernels that never end.
inline constexpr std::int64_t kSourcesLimitMs = 120'000;

struct TrialFlags {
  std::string backends = {};  // lists, as flags take them; empty: all
  std::string laws = {};
  // Where they were given, for messages.
  std::string backends_named_by = "--backend";
  std::string laws_named_by = "--law";
  // A user's kernels, in place of the list of backends: a shared library, or CUDA sources with the
  // adapter that makes them one.
  std::string kernel = {};
  verify::CudaSource cuda = {};
  // What their author promises: a row's bits depend on the keys that it sees alone.
  bool is_batch_invariant = false;
  std::optional<double> time_limit_s = {};  // of one call, KernelLibraryOptions::time_limit_ms

  bool has_library() const { return !kernel.empty() || !cuda.adapter.empty(); }
  // The flags of the library, each after a space.
  std::string library_text() const;
};

// Add --backend, which `about` explains, and --law; both complete known names.
void add_backend_flag(Command& command, TrialFlags& flags, const std::string& about);
void add_law_flag(Command& command, TrialFlags& flags);

// Adds --kernel, --cuda and the flags that belong to it.
void add_library_flags(Command& command, TrialFlags& flags);

struct Trial {
  std::shared_ptr<const verify::BuiltLibrary> built;  // of CUDA sources; backends run it
  std::vector<verify::ListedBackend> backends;
  std::vector<verify::Law> laws;  // the oracle's comparison last, but for a library's own
  // KernelLibraryTrial::watch_writes, of a library.
  std::function<void(verify::WriteWatcher)> watch_writes = {};

  std::vector<verify::Backend> backends_here() const;
};

// Invalid input that names the flag and what is known, or the library and what is wrong with it.
Result<Trial> choose_trial(const TrialFlags& flags);

// Of the backends that the executor of this program runs.
std::set<std::string> names_on_executor(const Trial& trial);

// The same laws, of which checks of the named backends are made in forks: one that crashes fails,
// as a library's does. Of the oracle, whose outputs may be watched, the call alone is, without
// notes.
std::vector<verify::Law> checked_in_forks(std::vector<verify::Law> laws,
                                          const std::set<std::string>& names,
                                          const verify::ForkNotes& notes = {});

// Backends and laws, with what they are.
std::string trial_text(const Trial& trial);

}  // namespace recto::experiments
