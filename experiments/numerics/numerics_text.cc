#include "experiments/numerics/numerics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <regex>
#include <set>
#include <utility>

#include "core/json.h"
#include "experiments/support/manifest.h"
#include "experiments/support/numbers.h"
#include "experiments/support/output_file.h"
#include "experiments/support/report_json.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

// With fewer draws the supported share is at most four fifths, even if all draws are refused.
constexpr std::int64_t kFewDraws = 16;

// "1.2e-4".
std::string size_text(double size) {
  std::string text = fmt::format("{:.1e}", size);
  if (text.size() > 2 && text[text.size() - 2] == '0') text.erase(text.size() - 2, 1);
  return text;
}

std::string of_draws(std::int64_t refused, const CellResult& result) {
  return fmt::format("{}/{}", refused, result.cell.draws);
}

std::vector<std::string> first_cells(const CellResult& result) {
  return {result.cell.types.name(), grouped(result.cell.num_keys)};
}

bool has_few_draws(const CellResult& result) { return result.cell.draws < kFewDraws; }

// The footnote of a judges_table() with marked rows.
std::string few_draws_text(const std::vector<CellResult>& results) {
  if (std::ranges::none_of(results, has_few_draws)) return {};
  return fmt::format("*: of fewer than {} draws, which say little of all draws.\n", kFewDraws);
}

std::size_t index(Judge judge) { return static_cast<std::size_t>(judge); }

std::string size_cell(const Threshold& threshold) {
  return threshold.sight == Sight::kSeen ? size_text(threshold.realised)
                                         : sight_name(threshold.sight);
}

std::string judges_table(const std::vector<CellResult>& results, const std::vector<Judge>& judges) {
  std::vector<TableColumn> columns{{"type", Align::kLeft}, {"n"}, {"fault", Align::kLeft}};
  for (const Judge judge : judges) {
    // A column has little room.
    columns.push_back({std::regex_replace(judge_name(judge), std::regex("abilistic"), ".")});
    columns.push_back({"refused"});
  }
  Table table(columns);
  for (const CellResult& result : results) {
    std::vector<std::string> cells = first_cells(result);
    if (has_few_draws(result)) cells.back() += '*';
    cells.emplace_back("none");
    for (const Judge judge : judges) {
      cells.emplace_back("-");
      cells.push_back(of_draws(result.refused_right[index(judge)], result));
    }
    table.add_row(cells);
    for (const Fault fault : kFaults) {
      cells = {"", "", fault_name(fault)};
      for (const Judge judge : judges) {
        const Threshold& threshold =
            result.thresholds[static_cast<std::size_t>(fault)][index(judge)];
        cells.push_back(size_cell(threshold));
        cells.push_back(threshold.sight == Sight::kNever ? "-"
                                                         : of_draws(threshold.refused, result));
      }
      table.add_row(cells);
    }
  }
  return table.text();
}

// The shares that the counts of the tables support.
std::string supported_text(const std::vector<CellResult>& results) {
  std::set<std::pair<std::int64_t, std::int64_t>> counts;  // draws, refused ones
  for (const CellResult& result : results) {
    for (const auto& of_fault : result.thresholds) {
      for (const Threshold& threshold : of_fault) {
        if (threshold.sight == Sight::kSeen) counts.insert({result.cell.draws, threshold.refused});
      }
    }
  }
  if (counts.empty()) return {};
  std::string text = "At 95 % confidence that supports at least this share of all draws:";
  std::size_t column = text.size();
  for (const auto& [draws, refused] : counts) {
    const std::string one = fmt::format(" {}/{} {:.0f} %", refused, draws,
                                        std::floor(100 * supported_share(refused, draws)));
    const bool wraps = column + one.size() > 98;
    text += wraps ? "\n" + one.substr(1) : one;
    column = wraps ? one.size() : column + one.size();
    text += ",";
    ++column;
  }
  text.back() = '.';
  return text + "\n";
}

Json cell_json(const StudyCell& cell) {
  return {{"type", cell.types.name()},
          {"num_keys", cell.num_keys},
          {"draws", cell.draws},
          {"seed", cell.seed}};
}

Json share_json(const Share& share) { return {{"median", share.median}, {"worst", share.worst}}; }

Json sharpness_json(const Sharpness& sharpness) {
  return {{"out_probabilistic", share_json(sharpness.out_probabilistic)},
          {"out_worst_case", share_json(sharpness.out_worst_case)},
          {"lse_ln_probabilistic", share_json(sharpness.lse_ln_probabilistic)},
          {"lse_ln_worst_case", share_json(sharpness.lse_ln_worst_case)},
          {"beyond_probabilistic", sharpness.beyond_probabilistic}};
}

// One fault under one judge. Sizes are null if there are none.
Json threshold_json(const Threshold& threshold, Fault fault, Judge judge, std::int64_t draws) {
  Json json = {{"fault", fault_name(fault)},
               {"judge", judge_name(judge)},
               {"sight", sight_name(threshold.sight)},
               {"size", nullptr},
               {"realised_size", nullptr},
               {"refused_draws", nullptr},
               {"supported_share", nullptr}};
  if (threshold.sight == Sight::kSeen) {
    json["size"] = threshold.size;
    json["realised_size"] = threshold.realised;
  }
  if (threshold.sight != Sight::kNever) json["refused_draws"] = threshold.refused;
  if (threshold.sight == Sight::kSeen)
    json["supported_share"] = supported_share(threshold.refused, draws);
  return json;
}

Json thresholds_json(const CellResult& result) {
  Json json = Json::array();
  for (const Fault fault : kFaults) {
    for (const Judge judge : kJudges) {
      const Threshold& threshold =
          result.thresholds[static_cast<std::size_t>(fault)][static_cast<std::size_t>(judge)];
      Json one = threshold_json(threshold, fault, judge, result.cell.draws);
      one["refused_right_draws"] = result.refused_right[static_cast<std::size_t>(judge)];
      json.push_back(one);
    }
  }
  return json;
}

void add_row(const Json& row, std::string& text) {
  std::vector<std::string> titles;
  std::vector<std::string> values;
  for (const auto& [title, value] : flatten(row)) {
    titles.push_back(title);
    values.push_back(value);
  }
  if (text.empty()) text = csv_row(titles);
  text += csv_row(values);
}

}  // namespace

const char* sight_name(Sight sight) {
  constexpr const char* kNames[] = {"seen", "always", "never"};
  return kNames[static_cast<int>(sight)];
}

std::string sharpness_text(const std::vector<CellResult>& results) {
  Table table({{"type", Align::kLeft},
               {"n"},
               {"draws"},
               {"out: prob."},
               {"worst"},
               {"w-case"},
               {"worst"},
               {"lse: prob."},
               {"worst"},
               {"w-case"},
               {"worst"},
               {"beyond"}});
  for (const CellResult& result : results) {
    std::vector<std::string> cells = first_cells(result);
    cells.push_back(grouped(result.cell.draws));
    const Sharpness& sharpness = result.sharpness;
    for (const Share& share : {sharpness.out_probabilistic, sharpness.out_worst_case,
                               sharpness.lse_ln_probabilistic, sharpness.lse_ln_worst_case}) {
      cells.push_back(size_text(share.median));
      cells.push_back(size_text(share.worst));
    }
    cells.push_back(grouped(sharpness.beyond_probabilistic));
    table.add_row(cells);
  }
  return "How much of its error bounds a right kernel uses: |error| / bound, median and worst\n\n" +
         table.text() +
         fmt::format(
             "\n"
             "One decode row against n keys, head dims {0}, scale 1 / sqrt({0}), normal q, K and V "
             "of the type\n"
             "(fp8 with a scale of {1}); tiles of 64 keys; but for fp32, sums are truncated in "
             "steps of 16 terms,\n"
             "and fp8 is dequantised to q's type. Shares of 1; over all elements of all draws. "
             "beyond: elements\n"
             "of out with an error beyond the probabilistic bound (prob.; w-case: the worst-case "
             "bound).\n",
             kHeadDim, kFp8Scale);
}

std::string thresholds_text(const std::vector<CellResult>& results) {
  return "The smallest fault that each judge of out detects\n\n" +
         judges_table(results, {Judge::kProbabilistic, Judge::kWorstCase, Judge::kFixed,
                                Judge::kFactorTwo}) +
         fmt::format(
             "\n"
             "Sizes: for a dropped key, and a key with another key's V, its softmax weight after "
             "rounding;\n"
             "for a scale error, its relative size. Each was chosen on as many other draws: at "
             "most one in\n"
             "a hundred missed it, and none of fewer than a hundred.\n"
             "refused: draws with a fault of that size that were refused, out of those after the "
             "choice;\n"
             "none: right runs that were refused. Judges: |error| against the bounds, against {}, "
             "against "
             "twice\n"
             "the largest error of the plain run in the same types (FlashAttention's tests add a "
             "small\n"
             "absolute allowance). always: right runs are refused as often; never: at no size "
             "below 1.\n",
             kFixedTolerance) +
         few_draws_text(results) + supported_text(results);
}

std::string others_text(const std::vector<CellResult>& results) {
  const std::string few = few_draws_text(results);
  return "The same with the bounds of the profile for third-party kernels\n\n" +
         judges_table(results, {Judge::kOthersProbabilistic, Judge::kOthersWorstCase}) +
         (few.empty() ? "" : "\n" + few);
}

Json numerics_json(const std::vector<CellResult>& results) {
  Json json = Json::array();
  for (const CellResult& result : results) {
    Json cell = cell_json(result.cell);
    cell["sharpness"] = sharpness_json(result.sharpness);
    cell["thresholds"] = thresholds_json(result);
    json.push_back(cell);
  }
  return json;
}

std::string sharpness_csv(const std::vector<CellResult>& results) {
  std::string text;
  for (const CellResult& result : results) {
    Json row = cell_json(result.cell);
    row.update(sharpness_json(result.sharpness));
    add_row(row, text);
  }
  return text;
}

std::string thresholds_csv(const std::vector<CellResult>& results) {
  std::string text;
  for (const CellResult& result : results) {
    for (const Json& threshold : thresholds_json(result)) {
      Json row = cell_json(result.cell);
      row.update(threshold);
      add_row(row, text);
    }
  }
  return text;
}

Status write_numerics_files(const std::vector<CellResult>& results, const std::string& folder,
                            const std::string& command) {
  Result<Json> begun = begin_manifest("numerics", {});
  RECTO_RETURN_IF_ERROR(begun.status());
  Json& manifest = begun.value();
  RECTO_RETURN_IF_ERROR(make_folder(folder));
  Json files = Json::object();
  RECTO_RETURN_IF_ERROR(write_noted_file(folder, "sharpness.csv", sharpness_csv(results), files));
  RECTO_RETURN_IF_ERROR(write_noted_file(folder, "thresholds.csv", thresholds_csv(results), files));
  manifest["repeat"] = command;
  manifest["files"] = files;
  return write_file(folder + "/manifest.json", json_text(manifest, 2) + '\n');
}

}  // namespace recto::experiments
