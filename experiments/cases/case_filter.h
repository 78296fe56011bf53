#pragma once

// The cases that a program supports, as given by flags, and the drawing of such cases.

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/cases/case_folder.h"
#include "experiments/support/command.h"
#include "verify/serving_kinds.h"

namespace recto::experiments {

// Lists have the form of flags; an empty list stands for all values that the generators draw.
struct CaseFilter {
  std::int64_t cases = 24;
  std::uint64_t seed = 2026;
  std::string operations = "decode,prefill,kv_write";
  std::string types = {};
  std::string layouts = "token-major";
  std::string head_dims = {};
  std::string groups = {};
  std::string block_sizes = {};
  std::string without = {};
  verify::SizeLimits limits = {};
};

void add_filter_flags(Command& command, CaseFilter& filter);

Json filter_json(const CaseFilter& filter);

// Draws cases of each operation in turn, cycling through small sizes, sizes of models, many heads
// and chunks, as `recto verify` does; every third case of an operation has a serving size, if its
// file is small enough. Leaves the hashes empty. Invalid input, naming the flag, for unknown
// values, for head dims that a layout cannot have, and for more than kCaseBytesMax bytes in all.
Result<std::vector<CaseFile>> draw_case_files(const CaseFilter& filter);

inline constexpr double kCaseBytesMax = 0x1p32;

}  // namespace recto::experiments
