#pragma once

// What is put to which laws: backends of the list, or the functions of somebody's kernel library.

#include <string>
#include <vector>

#include "core/status.h"
#include "verify/backend_list.h"
#include "verify/law.h"

namespace recto::experiments {

struct TrialFlags {
  std::string backends = {};  // lists, as flags take them; empty: all
  std::string laws = {};
  std::string kernel = {};  // path of a shared library; empty: the list of backends
};

struct Trial {
  std::vector<verify::ListedBackend> backends;
  std::vector<verify::Law> laws;  // the oracle's comparison last, but for a library's own

  std::vector<verify::Backend> backends_here() const;
};

// Invalid input that names the flag and what is known, or the library and what is wrong with it.
Result<Trial> choose_trial(const TrialFlags& flags);

// Backends and laws, with what they are.
std::string trial_text(const Trial& trial);

}  // namespace recto::experiments
