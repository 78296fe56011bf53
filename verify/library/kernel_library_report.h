#pragma once

// Runs all laws and the oracle on a kernel library.

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "verify/drawn_cases.h"
#include "verify/law_runner.h"
#include "verify/library/kernel_library.h"

namespace recto::verify {

// `count` cases of each kind. "small" has sizes of every kind; these find most faults and shrink
// well. "model" has the sizes that kernels are built for: head dims of models, block sizes of at
// least 16. "heads" has up to 128 query heads over up to 8 KV heads, in groups of up to 71.
std::vector<DrawnCases> library_cases(std::uint64_t count);

// Prompt chunks longer than tiles of 16 and 64 rows, small enough for every law.
DrawnCases chunk_cases(std::uint64_t count);

// Runs all laws, including those of engines' block tables and of KV writes, and the oracle, on
// these cases, or on those that RECTO_CASE selects.
Result<LawReport> kernel_library_report(const std::string& path,
                                        const std::vector<DrawnCases>& cases,
                                        const KernelLibraryOptions& options = {},
                                        const LawRunOptions& run = {});

}  // namespace recto::verify
