#pragma once

// Everything there is, run on a kernel library.

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "verify/drawn_cases.h"
#include "verify/kernel_abi/kernel_library.h"
#include "verify/law_runner.h"

namespace recto::verify {

// "small" has sizes of every kind, which find most faults and shrink well; "model" has those that
// kernels are made for: head dims of models, block sizes from 16 on; "heads" has up to 128 query
// heads over up to 8 KV heads, in groups of up to 71. So many cases of each.
std::vector<DrawnCases> library_cases(std::uint64_t count);

// All laws, those of engines' tables and of writing among them, and the oracle, on these cases, as
// far as RECTO_CASE asks for them, or all of them.
Result<LawReport> kernel_library_report(const std::string& path,
                                        const std::vector<DrawnCases>& cases,
                                        const KernelLibraryOptions& options = {},
                                        const LawRunOptions& run = {});

}  // namespace recto::verify
