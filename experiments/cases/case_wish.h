#pragma once

// Which cases somebody's program can serve, as flags say it, and such cases drawn.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/cases/case_folder.h"

namespace recto::experiments {

// Lists, as flags take them; empty: all that the generators draw.
struct CaseWish {
  std::int64_t cases = 24;
  std::uint64_t seed = 2026;
  std::string operations = "decode,prefill,kv_write";
  std::string types = {};
  std::string layouts = "token-major";
  std::string head_dims = {};
  std::string groups = {};
  std::string block_sizes = {};
  std::string without = {};
  std::int64_t context_max = 96;
};

void add_wish_flags(CLI::App& command, CaseWish& wish);

verify::Json wish_json(const CaseWish& wish);

// Operations in turn, each with small sizes, those of models and many heads in turn, as `recto
// verify` draws them. Without hashes. Invalid input that names the flag: for what is unknown, for
// head dims that a layout cannot have, and for more than kCaseBytesMax in all.
Result<std::vector<CaseFile>> draw_case_files(const CaseWish& wish);

inline constexpr double kCaseBytesMax = 0x1p32;

}  // namespace recto::experiments
