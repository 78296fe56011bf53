#include "verify/library/kernel_library_report.h"

#include <optional>
#include <utility>

#include "verify/block_manager/engine_tables_law.h"
#include "verify/law.h"
#include "verify/laws/laws.h"
#include "verify/library/kernel_library_backends.h"

namespace recto::verify {
namespace {

// Concatenates the sources.
CaseSource all_of(std::vector<CaseSource> sources) {
  return [sources = std::move(sources), next = std::size_t{0}]() mutable {
    for (; next < sources.size(); ++next)
      if (std::optional<DescribedCase> described = sources[next]()) return described;
    return std::optional<DescribedCase>();
  };
}

}  // namespace

std::vector<DrawnCases> library_cases(std::uint64_t count) {
  DrawnCases small{.name = "small", .count = count};
  small.domain.groups = {1, 2, 3, 4, 5, 6, 7, 8, 12};
  small.domain.num_seqs_max = 3;
  small.domain.num_kv_heads_max = 2;
  small.domain.gap_units = {kGapUnits.begin(), kGapUnits.end()};
  DrawnCases model{.name = "model", .count = count};
  model.domain = small.domain;
  model.domain.head_dims = {64, 80, 96, 128, 192, 256};
  model.domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  model.domain.block_sizes = {16, 32, 64};
  model.domain.num_rows_max = 6;
  // Many heads or wide groups, but few and short sequences, so that these cases cost no more than
  // the others.
  DrawnCases heads{.name = "heads", .count = count};
  heads.domain.gap_units = small.domain.gap_units;
  heads.domain.groups = {1, 6, 9, 12, 16, 17, 24, 24, 32, 32, 48, 64, 71};
  heads.domain.num_kv_heads_max = 8;
  heads.domain.num_q_heads_max = 128;
  heads.domain.head_dims = {1, 2, 3, 4, 5, 7, 8, 12, 16, 24};
  heads.domain.num_seqs_max = 2;
  heads.domain.num_rows_max = 6;
  heads.domain.context_max = 40;
  return {small, model, heads};
}

DrawnCases chunk_cases(std::uint64_t count) {
  DrawnCases chunks{.name = "chunks", .count = count};
  chunks.domain.gap_units = {kGapUnits.begin(), kGapUnits.end()};
  chunks.domain.rows = {RowsKind::kChunk, RowsKind::kChunk, RowsKind::kPrefill, RowsKind::kMixed};
  chunks.domain.groups = {1, 2, 4, 5};
  chunks.domain.head_dims = {4, 7, 8, 16, 24, 32};
  chunks.domain.num_seqs_max = 2;
  chunks.domain.num_kv_heads_max = 2;
  chunks.domain.num_q_heads_max = 5;
  chunks.domain.first_rows_min = 13;
  chunks.domain.num_rows_max = 80;
  chunks.domain.context_max = 160;
  return chunks;
}

Result<LawReport> kernel_library_report(const std::string& path,
                                        const std::vector<DrawnCases>& cases,
                                        const KernelLibraryOptions& options,
                                        const LawRunOptions& run) {
  const Result<CaseChoice> asked = asked_cases(cases);
  RECTO_RETURN_IF_ERROR(asked.status());
  const Result<LibraryUnderTest> tested = library_under_test(path, options);
  RECTO_RETURN_IF_ERROR(tested.status());
  std::vector<Law> laws = all_laws();
  laws.insert(laws.end(), {engine_tables_law(), oracle_comparison()});
  laws.insert(laws.end(), tested.value().laws.begin(), tested.value().laws.end());
  std::vector<CaseSource> sources;
  for (const DrawnCases& set : cases) sources.push_back(drawn_cases(set, asked.value()));
  return run_laws(laws, tested.value().backends, all_of(std::move(sources)), run);
}

}  // namespace recto::verify
