#pragma once

// Judges the answers to the cases of a folder and saves failing cases for recto replay.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/cases/case_folder.h"
#include "experiments/support/command.h"
#include "reference/numerics.h"
#include "verify/law.h"

namespace recto::experiments {

struct CheckOptions {
  std::string folder = {};  // of cases and answers
  verify::BoundKind bound_kind = verify::BoundKind::kProbabilistic;
  reference::DeclaredNumerics numerics = {};
  std::string kept_folder = {};  // of failing cases
};

enum class AnswerState : std::uint8_t { kRight, kWrong, kMissing, kSkipped };

struct JudgedCase {
  CaseFile file = {};
  AnswerState state = AnswerState::kMissing;
  std::string answer = {};          // the file; empty where it is missing
  verify::LawVerdict verdict = {};  // of an answer
  std::string kept = {};            // the case's JSON, if it is wrong
  std::string reason = {};          // of a skipped case
};

// Returns the cases in the order of the manifest. Invalid input if the folder's cases were changed;
// failed if a failing case cannot be saved.
Result<std::vector<JudgedCase>> judge_folder(const CheckOptions& options, CommandContext& context);

std::int64_t count_in_state(const std::vector<JudgedCase>& cases, AnswerState state);

}  // namespace recto::experiments
