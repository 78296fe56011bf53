#pragma once

// Failing cases of a run: their files, which `recto replay` reads, and their text.

#include <map>
#include <string>

#include "experiments/verify/verify_run.h"
#include "verify/backend.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"

namespace recto::experiments {

class FailureFiles {
 public:
  // The options must outlive it. `program`: the name in commands.
  FailureFiles(const VerifyOptions& options, std::string program);

  // Writes the case of the last failure in outcome.kept to a file, and returns the command that
  // replays it. Notes in the outcome the file, and why it could not be written, or what it
  // replaced.
  std::string save(const verify::Law& law, const verify::Backend& backend,
                   const verify::DescribedCase& smallest, VerifyOutcome& outcome);

 private:
  const VerifyOptions& options_;
  std::string program_;
  std::map<std::string, int> numbers_;  // the last, by backend and law
};

// How many checks failed and how many of these are shown, with the block of each; empty without
// failures.
std::string failures_text(const VerifyOptions& options, const VerifyOutcome& outcome);

}  // namespace recto::experiments
