#include "experiments/mutants/campaign_result.h"

#include "core/json.h"
#include "experiments/mutants/kept_campaigns.h"

namespace recto::experiments {
namespace {

Status expected(const std::string& field, const char* what) {
  return Status::invalid_input("field '" + field + "': expected " + what);
}

Status read_text(const Json& json, const char* field, std::string& text) {
  if (!json.contains(field) || !json[field].is_string()) return expected(field, "text");
  text = json[field].get<std::string>();
  return Status::ok();
}

Status read_texts(const Json& json, const char* field, std::vector<std::string>& texts) {
  if (!json.contains(field) || !json[field].is_array()) return expected(field, "a list");
  for (const Json& text : json[field]) {
    if (!text.is_string()) return expected(field, "a list of texts");
    texts.push_back(text.get<std::string>());
  }
  return Status::ok();
}

Status read_alone(const Json& json, TriedAlone& alone) {
  if (!json.is_object()) return expected("alone", "an object");
  RECTO_RETURN_IF_ERROR(read_text(json, "verify", alone.verify));
  return read_texts(json, "laws", alone.laws);
}

Status read_mutant(const Json& json, TriedMutant& mutant) {
  if (!json.is_object()) return Status::invalid_input("expected an object");
  RECTO_RETURN_IF_ERROR(read_text(json, "name", mutant.name));
  RECTO_RETURN_IF_ERROR(read_text(json, "area", mutant.area));
  RECTO_RETURN_IF_ERROR(read_text(json, "place", mutant.place));
  RECTO_RETURN_IF_ERROR(read_text(json, "text", mutant.text));
  RECTO_RETURN_IF_ERROR(read_text(json, "ours", mutant.ours));
  RECTO_RETURN_IF_ERROR(read_text(json, "by", mutant.by));
  RECTO_RETURN_IF_ERROR(read_text(json, "sort", mutant.sort));
  if (!json.contains("seconds") || !json["seconds"].is_number()) {
    return expected("seconds", "a number");
  }
  mutant.seconds = json["seconds"].get<double>();
  mutant.is_same_code = json.contains("listed") && json["listed"] == "same code";
  mutant.is_equivalent =
      mutant.is_same_code || (json.contains("listed") && json["listed"] == "equivalent");
  RECTO_RETURN_IF_ERROR(read_texts(json, "imitations", mutant.imitations));
  if (!json.contains("alone")) return Status::ok();
  return read_alone(json["alone"], mutant.alone.emplace());
}

}  // namespace

Result<CampaignResult> parse_campaign_result(const std::string& name, const std::string& text) {
  const Result<Json> parsed = parse_json(text);
  if (!parsed.is_ok()) return Status::invalid_input(name + ": expected JSON");
  const Json& json = parsed.value();
  CampaignResult result;
  if (!json.is_object()) return Status::invalid_input(name + ": expected an object");
  const Status date = read_text(json, "date", result.date);
  if (!date.is_ok()) return date.in(name);
  if (json.contains("laws")) {
    const Status laws = read_texts(json, "laws", result.laws);
    if (!laws.is_ok()) return laws.in(name);
  }
  if (!json.contains("mutants") || !json["mutants"].is_array()) {
    return expected("mutants", "a list").in(name);
  }
  if (json["mutants"].empty()) return expected("mutants", "at least one").in(name);
  for (const Json& mutant : json["mutants"]) {
    const Status status = read_mutant(mutant, result.mutants.emplace_back());
    if (!status.is_ok()) {
      return status.in("mutant " + std::to_string(result.mutants.size())).in(name);
    }
  }
  return result;
}

Result<CampaignResult> last_campaign() {
  return parse_campaign_result("the last campaign", last_campaign_json());
}

Result<CampaignResult> uninstrumented_campaign() {
  return parse_campaign_result("the uninstrumented campaign", uninstrumented_campaign_json());
}

Result<CampaignResult> second_draw() {
  return parse_campaign_result("the second draw", second_draw_json());
}

}  // namespace recto::experiments
