#include "experiments/cases/drawn_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "experiments/cases/operation_cases.h"
#include "experiments/support/numbers.h"
#include "verify/cases/case_json.h"
#include "verify/library/kernel_library_report.h"

namespace recto::experiments {
namespace {

using verify::CaseOperation;

constexpr std::int64_t kCasesMax = 10'000;
constexpr std::int64_t kContextMax = 4096;
constexpr std::int64_t kSequencesMax = 1024;
constexpr std::int64_t kRowsMax = 1024;
constexpr std::int64_t kQHeadsMax = 1024;

Result<std::vector<CaseOperation>> operations_of(const std::string& list) {
  const auto items = split_list(list);
  RECTO_RETURN_IF_ERROR(items.status().in("--op"));
  std::vector<CaseOperation> operations;
  for (const std::string& item : items.value()) {
    const auto found = std::ranges::find(verify::kCaseOperations, item, [](CaseOperation each) {
      return std::string(case_operation_name(each));
    });
    if (found == verify::kCaseOperations.end()) {
      return Status::invalid_input(
          fmt::format("--op: found '{}'; expected one of decode, prefill, kv_write", item));
    }
    operations.push_back(*found);
  }
  return operations;
}

Result<std::vector<OperationCases>> operation_cases(const FilesWanted& wanted,
                                                    const std::vector<CaseOperation>& operations) {
  const Result<verify::CaseDemands> demands = demands_of(wanted.filter);
  RECTO_RETURN_IF_ERROR(demands.status());
  const auto kinds = kinds_of(wanted.filter);
  RECTO_RETURN_IF_ERROR(kinds.status());
  CaseSets sets{.small = verify::library_cases(1), .serving = verify::serving_kinds(wanted.limits)};
  sets.small.push_back(verify::chunk_cases(1));
  narrow(demands.value(), kinds.value(), wanted.limits, sets);
  const auto finish = [&wanted](verify::DrawnCases& set) {
    set.seed = wanted.seed;
    set.domain.has_padding = false;  // arrays have no gaps
  };
  for (verify::DrawnCases& set : sets.small) finish(set);
  for (verify::ServingKind& kind : sets.serving) finish(kind.cases);
  std::vector<OperationCases> drawn;
  for (const CaseOperation operation : operations)
    drawn.emplace_back(operation, sets, demands.value());
  return drawn;
}

}  // namespace

void add_files_flags(Command& command, FilesWanted& wanted) {
  command.add("--cases N", integer(wanted.cases, {1, kCasesMax}), "cases to draw [24]");
  command.add("--seed N", integer(wanted.seed), "seed of the cases [2026]");
  command.add("--op LIST", nonempty_text(wanted.operations, "a list"),
              "operations: decode, prefill and kv_write [all]");
  add_filter_flags(command, wanted.filter, "token-major");
  const auto add_limit = [&command](const char* names, std::int64_t& limit, const char* about,
                                    std::int64_t most) {
    command.add(names, integer(limit, {1, most}), fmt::format("{} [{}]", about, limit));
  };
  verify::SizeLimits& limits = wanted.limits;
  add_limit("--context-max N", limits.context_max, "longest context, tokens", kContextMax);
  add_limit("--sequences-max N", limits.num_seqs_max, "most sequences per batch", kSequencesMax);
  add_limit("--rows-max N", limits.num_rows_max, "most query rows per sequence", kRowsMax);
  add_limit("--q-heads-max N", limits.num_q_heads_max, "most query heads", kQHeadsMax);
}

Json wanted_json(const FilesWanted& wanted) {
  Json json = filter_json(wanted.filter);
  json["cases"] = wanted.cases;
  json["op"] = wanted.operations;
  json["context_max"] = wanted.limits.context_max;
  json["sequences_max"] = wanted.limits.num_seqs_max;
  json["rows_max"] = wanted.limits.num_rows_max;
  json["q_heads_max"] = wanted.limits.num_q_heads_max;
  return json;
}

Result<std::vector<CaseFile>> draw_case_files(const FilesWanted& wanted) {
  const Result<std::vector<CaseOperation>> operations = operations_of(wanted.operations);
  RECTO_RETURN_IF_ERROR(operations.status());
  Result<std::vector<OperationCases>> drawn = operation_cases(wanted, operations.value());
  RECTO_RETURN_IF_ERROR(drawn.status());
  std::map<CaseOperation, int> named;
  std::vector<CaseFile> files;
  double bytes = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.cases); ++i) {
    const CaseOperation operation = operations.value()[i % operations.value().size()];
    auto spec = drawn.value()[i % operations.value().size()].next();
    RECTO_RETURN_IF_ERROR(spec.status());
    if (case_numbers(spec.value()) > verify::kCaseNumbersMax) {
      return Status::invalid_input(
          fmt::format("--context-max, --head-dim, --group: expected sizes that make cases of at "
                      "most {:.3g} numbers, found one of {:.3g}",
                      verify::kCaseNumbersMax, case_numbers(spec.value())));
    }
    bytes += bytes_of(spec.value());
    if (bytes > kCaseBytesMax) {
      return Status::invalid_input(fmt::format(
          "--cases: found {}; the first {} take 4 GiB already; expected fewer, or smaller ones",
          wanted.cases, i + 1));
    }
    files.push_back(
        {.name = fmt::format("{}-{:02}", case_operation_name(operation), ++named[operation]),
         .operation = operation,
         .spec = std::move(spec).value()});
  }
  return files;
}

}  // namespace recto::experiments
