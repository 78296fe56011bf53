#pragma once

// Draws the cases that recto cases writes.

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/cases/case_filter.h"
#include "experiments/cases/case_folder.h"

namespace recto::experiments {

struct FilesWanted {
  std::int64_t cases = 24;
  std::uint64_t seed = 2026;
  std::string operations = "decode,prefill,kv_write";
  CaseFilter filter = {.layouts = "token-major"};
  verify::SizeLimits limits = {};
};

void add_files_flags(Command& command, FilesWanted& wanted);

Json wanted_json(const FilesWanted& wanted);

// Draws cases of each operation in turn, cycling through small sizes, sizes of models, many heads
// and chunks, as `recto verify` does; every third case of an operation has a serving size, if its
// file is small enough. Leaves the hashes empty. Invalid input, naming the flag, for unknown
// values, for head dims that a layout cannot have, for more than kCaseBytesMax bytes in all, and if
// no drawn case meets the filter.
Result<std::vector<CaseFile>> draw_case_files(const FilesWanted& wanted);

inline constexpr double kCaseBytesMax = 0x1p32;

}  // namespace recto::experiments
