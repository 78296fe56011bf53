#include "verify/cases/case_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/dense_kv_view.h"
#include "core/json.h"

namespace recto::verify {
namespace {

constexpr std::array<ElementType, 5> kTypes = {ElementType::kFp32, ElementType::kFp16,
                                               ElementType::kBf16, ElementType::kE4m3,
                                               ElementType::kE5m2};
constexpr std::array<ScaleKind, 3> kScaleKinds = {ScaleKind::kNone, ScaleKind::kPerTensor,
                                                  ScaleKind::kPerKvHead};
constexpr std::array<KvLayout, 3> kLayouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor,
                                              KvLayout::kPacked};

constexpr const char* scale_kind_name(ScaleKind kind) {
  constexpr const char* kNames[] = {"none", "per-tensor", "per-kv-head"};
  return kNames[static_cast<int>(kind)];
}

template <typename T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json shape_json(const ProblemShape& shape) {
  return {{"num_q_heads", shape.num_q_heads},
          {"num_kv_heads", shape.num_kv_heads},
          {"head_dim_k", shape.head_dim_k},
          {"head_dim_v", shape.head_dim_v},
          {"q_type", element_type_name(shape.q_type)},
          {"kv_type", element_type_name(shape.kv_type)}};
}

Json options_json(const OptionsSpec& options) {
  Json json = {{"scale", options.scale},
               {"softcap", options.softcap},
               {"causal", options.causal},
               {"window", nullable(options.window)},
               {"alibi", alibi_family_name(options.alibi)},
               {"sinks", sink_family_name(options.sinks)},
               {"k_scales", scale_kind_name(options.k_scales)},
               {"v_scales", scale_kind_name(options.v_scales)}};
  if (options.has_sinks_of_q_type) json["sinks_of_q_type"] = true;
  return json;
}

Json sequences_json(const std::vector<SequenceSpec>& sequences) {
  Json list = Json::array();
  for (const SequenceSpec& sequence : sequences) {
    list.push_back({{"num_rows", sequence.num_rows},
                    {"context_length", sequence.context_length},
                    {"id", sequence.id}});
  }
  return list;
}

Json values_json(const CaseSpec& spec) {
  Json json = {{"q", float_family_name(spec.q)},
               {"k", float_family_name(spec.k)},
               {"v", float_family_name(spec.v)},
               {"shared_prefix", spec.shared_prefix},
               {"seed", spec.seed}};
  if (spec.varied_tokens) {
    json["varied_tokens"] = {{"begin", spec.varied_tokens->begin},
                             {"end", spec.varied_tokens->end}};
  }
  return json;
}

Json gaps_json(const Gaps& gaps) {
  Json json;
  for (const GapField& field : kGapFields)
    if (gaps.*field.gap != 0) json[field.name] = gaps.*field.gap;
  return json;
}

Json placement_json(const Placement& placement) {
  Json json = {{"layout", kv_layout_name(placement.layout)},
               {"block_size", placement.block_size},
               {"order", block_order_name(placement.order)},
               {"spare_blocks", placement.spare_blocks},
               {"block_padding", placement.block_padding},
               {"row_padding", placement.row_padding},
               {"table_padding", placement.table_padding},
               {"garbage_beyond_table", placement.garbage_beyond_table},
               {"shares_prefixes", placement.shares_prefixes},
               {"poison", poison_name(placement.poison)},
               {"poisoned", poisoned_tensors_name(placement.poisoned)},
               {"seed", placement.seed}};
  if (placement.gaps != Gaps{}) json["gaps"] = gaps_json(placement.gaps);
  if (placement.tails != PoisonLimit::kAny) json["tails"] = poison_limit_name(placement.tails);
  return json;
}

void read_shape(FieldReader& reader, ProblemShape& shape) {
  reader.read("num_q_heads", shape.num_q_heads);
  reader.read("num_kv_heads", shape.num_kv_heads);
  reader.read("head_dim_k", shape.head_dim_k);
  reader.read("head_dim_v", shape.head_dim_v);
  reader.read_choice("q_type", shape.q_type, kTypes, element_type_name);
  reader.read_choice("kv_type", shape.kv_type, kTypes, element_type_name);
}

void read_options(FieldReader& reader, OptionsSpec& options) {
  reader.read("scale", options.scale);
  reader.read("softcap", options.softcap);
  options.causal = reader.read_truth("causal").value_or(options.causal);
  reader.read("window", options.window);
  reader.read_choice("alibi", options.alibi, kAlibiFamilies, alibi_family_name);
  reader.read_choice("sinks", options.sinks, kSinkFamilies, sink_family_name);
  reader.read_choice("k_scales", options.k_scales, kScaleKinds, scale_kind_name);
  reader.read_choice("v_scales", options.v_scales, kScaleKinds, scale_kind_name);
  if (reader.find("sinks_of_q_type") != nullptr)
    options.has_sinks_of_q_type = reader.read_truth("sinks_of_q_type").value_or(false);
}

// Reads the object in field `name` of `outer` with `read(reader)`.
template <typename Read>
void read_part(FieldReader& outer, const char* name, const Read& read) {
  const Json* found = outer.require(name, "an object");
  if (found == nullptr) return;
  FieldReader reader(*found, outer.path_of(name));
  read(reader);
  outer.merge(reader.finish());
}

// A missing field is 0.
void read_gaps(FieldReader& reader, Gaps& gaps) {
  for (const GapField& field : kGapFields)
    if (reader.find(field.name) != nullptr) reader.read(field.name, gaps.*field.gap);
}

void read_placement(FieldReader& reader, Placement& placement) {
  reader.read_choice("layout", placement.layout, kLayouts, kv_layout_name);
  reader.read("block_size", placement.block_size);
  reader.read_choice("order", placement.order, kBlockOrders, block_order_name);
  reader.read("spare_blocks", placement.spare_blocks);
  reader.read("block_padding", placement.block_padding);
  reader.read("row_padding", placement.row_padding);
  reader.read("table_padding", placement.table_padding);
  placement.garbage_beyond_table =
      reader.read_truth("garbage_beyond_table").value_or(placement.garbage_beyond_table);
  placement.shares_prefixes =
      reader.read_truth("shares_prefixes").value_or(placement.shares_prefixes);
  reader.read_choice("poison", placement.poison, kPoisons, poison_name);
  reader.read_choice("poisoned", placement.poisoned, kPoisonedTensors, poisoned_tensors_name);
  reader.read("seed", placement.seed);
  if (reader.find("tails") != nullptr)
    reader.read_choice("tails", placement.tails, kPoisonLimits, poison_limit_name);
  // The field is missing if there are no gaps.
  if (reader.find("gaps") == nullptr) return;
  read_part(reader, "gaps", [&](FieldReader& part) { read_gaps(part, placement.gaps); });
}

void read_values(FieldReader& reader, CaseSpec& spec) {
  const auto& families = kFloatFamilies;
  reader.read_choice("q", spec.q, families, float_family_name);
  reader.read_choice("k", spec.k, families, float_family_name);
  reader.read_choice("v", spec.v, families, float_family_name);
  reader.read("shared_prefix", spec.shared_prefix);
  reader.read("seed", spec.seed);
  // The field is missing if all tokens are varied.
  if (reader.find("varied_tokens") == nullptr) return;
  read_part(reader, "varied_tokens", [&spec](FieldReader& range) {
    spec.varied_tokens.emplace();
    range.read("begin", spec.varied_tokens->begin);
    range.read("end", spec.varied_tokens->end);
  });
}

void read_sequences(FieldReader& outer, std::vector<SequenceSpec>& sequences) {
  const Json* found = outer.require("sequences", "a list");
  if (found == nullptr) return;
  if (!found->is_array()) return outer.fail_found("sequences", "a list", *found);
  sequences.clear();
  for (const Json& item : *found) {
    FieldReader reader(item, fmt::format("{}[{}]", outer.path_of("sequences"), sequences.size()));
    SequenceSpec& sequence = sequences.emplace_back();
    reader.read("num_rows", sequence.num_rows);
    reader.read("context_length", sequence.context_length);
    reader.read("id", sequence.id);
    outer.merge(reader.finish());
  }
}

double number(std::int64_t size) { return static_cast<double>(size); }

// The numbers in one block of K and one of V. In packed caches, K slots lie within packs: at most
// one gap per dim.
double block_numbers(const CaseSpec& spec) {
  const Placement& placement = spec.placement;
  const Gaps& gaps = placement.gaps;
  const double kv_heads = number(spec.shape.num_kv_heads);
  const double slots = number(placement.block_size);
  const double k_dims = number(spec.shape.head_dim_k);
  const double k_packs = k_dims / number(packed_width_k(spec.shape.kv_type));
  const double v_dims = number(spec.shape.head_dim_v);
  const bool by_token = placement.layout == KvLayout::kTokenMajor;
  const bool is_packed = placement.layout == KvLayout::kPacked;
  const double runs = by_token ? slots : kv_heads * (is_packed ? 1.0 : slots);
  return kv_heads * slots * (k_dims + v_dims) +
         runs * number(gaps.k_slots) * (is_packed ? k_dims : 1.0) +
         runs * number(gaps.v_slots) * (is_packed ? v_dims : 1.0) +
         (is_packed ? kv_heads * slots * k_packs * number(gaps.k_pack_slots) : 0.0) +
         kv_heads * (by_token ? slots : 1.0) * (number(gaps.k_heads) + number(gaps.v_heads)) +
         number(gaps.k_blocks) + number(gaps.v_blocks) + number(placement.block_padding);
}

// The numbers of a row of q, of out, and of new K and V.
double row_numbers(const CaseSpec& spec) {
  const Gaps& gaps = spec.placement.gaps;
  double per_row = number(spec.placement.row_padding);
  for (const Gap gap : {&Gaps::q_rows, &Gaps::out_rows, &Gaps::new_k_rows, &Gaps::new_v_rows})
    per_row += number(gaps.*gap);
  const double per_q_head = number(spec.shape.head_dim_k) + number(spec.shape.head_dim_v) +
                            number(gaps.q_heads) + number(gaps.out_heads);
  const double per_kv_head = number(gaps.new_k_heads) + number(gaps.new_v_heads);
  return per_row + number(spec.shape.num_q_heads) * per_q_head +
         number(spec.shape.num_kv_heads) * per_kv_head;
}

}  // namespace

Json case_json(const CaseSpec& spec) {
  return {{"shape", shape_json(spec.shape)},
          {"options", options_json(spec.options)},
          {"sequences", sequences_json(spec.sequences)},
          {"values", values_json(spec)},
          {"placement", placement_json(spec.placement)}};
}

std::string topic_lines(const Json& json, const std::string& indent) {
  std::string text;
  for (const auto& [topic, value] : json.items()) {
    if (!text.empty()) text += ",\n";
    text += fmt::format("{}\"{}\": {}", indent, topic, json_text(value));
  }
  return text;
}

double case_numbers(const CaseSpec& spec) {
  const double block_size = number(spec.placement.block_size);
  double blocks = 1.0 + number(spec.placement.spare_blocks);
  double rows = 0.0;
  for (const SequenceSpec& sequence : spec.sequences) {
    blocks += number(sequence.context_length) / block_size + 1.0;
    rows += number(sequence.num_rows);
  }
  const double columns = blocks + number(spec.placement.table_padding);
  return blocks * block_numbers(spec) + number(std::ssize(spec.sequences)) * columns +
         rows * row_numbers(spec);
}

Result<CaseSpec> read_case(const Json& json, const std::string& path) {
  CaseSpec spec;
  FieldReader reader(json, path);
  read_part(reader, "shape", [&](FieldReader& part) { read_shape(part, spec.shape); });
  read_part(reader, "options", [&](FieldReader& part) { read_options(part, spec.options); });
  read_sequences(reader, spec.sequences);
  read_part(reader, "values", [&](FieldReader& part) { read_values(part, spec); });
  read_part(reader, "placement", [&](FieldReader& part) { read_placement(part, spec.placement); });
  RECTO_RETURN_IF_ERROR(reader.finish());
  const Status checked = check_case(spec);
  if (!checked.is_ok()) return Status::invalid_input(path + "." + checked.message());
  const auto sequences = std::max<std::int64_t>(1, std::ssize(spec.sequences));
  if (spec.shape.num_q_heads > kCaseHeadsMax / sequences) {
    return Status::invalid_input(
        fmt::format("{}.shape.num_q_heads: expected at most {} in {} sequences, found {}", path,
                    kCaseHeadsMax / sequences, sequences, spec.shape.num_q_heads));
  }
  if (case_numbers(spec) > kCaseNumbersMax) {
    return Status::invalid_input(fmt::format("{}: expected at most {:.0f} numbers, found {:.3g}",
                                             path, kCaseNumbersMax, case_numbers(spec)));
  }
  return spec;
}

}  // namespace recto::verify
