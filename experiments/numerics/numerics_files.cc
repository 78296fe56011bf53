#include "experiments/numerics/numerics_files.h"

#include "core/json.h"
#include "experiments/numerics/numerics_text.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"
#include "experiments/support/report_json.h"

namespace recto::experiments {
namespace {

Json cell_json(const StudyCell& cell) {
  return {{"type", cell.types.name()},
          {"num_keys", cell.num_keys},
          {"draws", cell.draws},
          {"seed", cell.seed}};
}

Json share_json(const Share& share) { return {{"median", share.median}, {"worst", share.worst}}; }

Json sharpness_json(const Sharpness& sharpness) {
  return {{"out_sharp", share_json(sharpness.out_sharp)},
          {"out_hard", share_json(sharpness.out_hard)},
          {"lse_ln_sharp", share_json(sharpness.lse_ln_sharp)},
          {"lse_ln_hard", share_json(sharpness.lse_ln_hard)},
          {"beyond_sharp", sharpness.beyond_sharp}};
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
