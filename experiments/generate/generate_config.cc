#include "experiments/generate/generate_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "core/element_type.h"
#include "core/json.h"
#include "core/refusal.h"

namespace recto::experiments {
namespace {

template <typename T>
struct Named {
  const char* name;
  T value;
};

// One object of the file. Keeps the first failure; an unknown field is a failure.
class Fields {
 public:
  Fields(std::string place, const Json& json) : place_(std::move(place)), json_(json) {
    if (!json.is_object()) fail("", json, "an object");
  }

  void integer(const char* field, std::int64_t& value) {
    if (const Json* found = take(field)) {
      if (!found->is_number_integer() ||
          (found->is_number_unsigned() && found->get<std::uint64_t>() > (1ULL << 62))) {
        return fail(field, *found, "an integer");
      }
      value = found->get<std::int64_t>();
    }
  }
  void number(const char* field, double& value) {
    if (const Json* found = take(field)) {
      if (!found->is_number()) return fail(field, *found, "a number");
      value = found->get<double>();
    }
  }
  void truth(const char* field, bool& value) {
    if (const Json* found = take(field)) {
      if (!found->is_boolean()) return fail(field, *found, "true or false");
      value = found->get<bool>();
    }
  }
  void text(const char* field, std::string& value) {
    if (const Json* found = take(field)) {
      if (!found->is_string()) return fail(field, *found, "a text");
      value = found->get<std::string>();
    }
  }
  template <typename T>
  void name(const char* field, T& value, std::initializer_list<Named<T>> names) {
    const Json* found = take(field);
    if (found == nullptr) return;
    for (const Named<T>& each : names) {
      if (*found == each.name) {
        value = each.value;
        return;
      }
    }
    fail(field, *found, "one of " + list_names(names, &Named<T>::name));
  }
  const Json* take(const char* field) {
    if (!status_.is_ok()) return nullptr;
    known_.insert(field);
    return json_.find(field);
  }
  void fail(const std::string& field, const Json& found, const std::string& expected) {
    if (!status_.is_ok()) return;
    const std::string place = field.empty()    ? place_
                              : place_.empty() ? field
                                               : place_ + "." + field;
    status_ = Status::invalid_input(fmt::format(
        "{}: found {}; expected {}", place.empty() ? "config" : place, json_text(found), expected));
  }
  Status finish() {
    if (!status_.is_ok()) return status_;
    for (const auto& [key, value] : json_.items()) {
      if (!known_.contains(key)) fail(key, value, "only the fields " + list_names(known_));
    }
    return status_;
  }

 private:
  std::string place_;
  const Json& json_;
  std::set<std::string> known_;
  Status status_;
};

Status read_model(const Json& json, GenerateConfig& config) {
  Fields fields("model", json);
  verify::ModelShape& shape = config.model;
  fields.integer("vocabulary", shape.vocabulary);
  fields.integer("hidden", shape.hidden);
  fields.integer("layers", shape.layers);
  fields.integer("num_q_heads", shape.num_q_heads);
  fields.integer("num_kv_heads", shape.num_kv_heads);
  fields.integer("head_dim", shape.head_dim);
  fields.integer("ffn", shape.ffn);
  fields.number("rotary_base", shape.rotary_base);
  fields.number("norm_epsilon", shape.norm_epsilon);
  fields.truth("has_qk_norm", shape.has_qk_norm);
  std::int64_t seed = 0;
  fields.integer("seed", seed);
  config.weights_seed = static_cast<std::uint64_t>(seed);
  fields.text("weights", config.weights_file);
  return fields.finish();
}

// Checks what every kernel requires; a kernel's error would name a field of its call instead.
bool is_block_size(std::int64_t size) {
  return size > 0 && (std::has_single_bit(static_cast<std::uint64_t>(size)) || size % 16 == 0);
}

Status read_cache(const Json& json, verify::EngineOptions& engine) {
  Fields fields("cache", json);
  const std::initializer_list<Named<ElementType>> types = {
      {"fp32", ElementType::kFp32}, {"fp16", ElementType::kFp16}, {"bf16", ElementType::kBf16}};
  fields.name("type", engine.rounding.type, types);
  engine.rounding.cache = engine.rounding.type;
  fields.name("kv_type", engine.rounding.cache,
              {{"fp32", ElementType::kFp32},
               {"fp16", ElementType::kFp16},
               {"bf16", ElementType::kBf16},
               {"e4m3", ElementType::kE4m3},
               {"e5m2", ElementType::kE5m2}});
  double scale_k = engine.rounding.scale_k;
  double scale_v = engine.rounding.scale_v;
  fields.number("scale_k", scale_k);
  fields.number("scale_v", scale_v);
  engine.rounding.scale_k = static_cast<float>(scale_k);
  engine.rounding.scale_v = static_cast<float>(scale_v);
  fields.name("layout", engine.layout,
              {{"token-major", KvLayout::kTokenMajor},
               {"head-major", KvLayout::kHeadMajor},
               {"packed", KvLayout::kPacked}});
  fields.integer("block_size", engine.block_size);
  if (!is_block_size(engine.block_size))
    fields.fail("block_size", engine.block_size, "a power of two or a multiple of 16");
  fields.integer("num_blocks", engine.num_blocks);
  fields.integer("host_blocks", engine.host_blocks);
  bool finds_prefixes = engine.caching == cache::PrefixCaching::kOn;
  fields.truth("prefix_cache", finds_prefixes);
  engine.caching = finds_prefixes ? cache::PrefixCaching::kOn : cache::PrefixCaching::kOff;
  return fields.finish();
}

Status read_scheduler(const Json& json, verify::EngineOptions& engine) {
  Fields fields("scheduler", json);
  fields.integer("max_sequences", engine.max_sequences);
  fields.integer("max_batched_tokens", engine.max_batched_tokens);
  fields.integer("max_length", engine.max_length);
  fields.integer("draft_tokens", engine.draft_tokens);
  fields.name(
      "preemption", engine.preemption,
      {{"recompute", sim::PreemptionRule::kRecompute}, {"swap", sim::PreemptionRule::kSwap}});
  fields.name("admission", engine.admission,
              {{"whole-prompt", sim::AdmissionRule::kWholePrompt},
               {"first-chunk", sim::AdmissionRule::kFirstChunk}});
  return fields.finish();
}

bool is_token(const Json& json) {
  return json.is_number_unsigned() && json.get<std::uint64_t>() <= (1U << 30);
}

Status read_request(const Json& json, std::int64_t id, verify::GenerationRequest& request) {
  Fields fields(fmt::format("requests[{}]", id), json);
  const Json* const prompt = fields.take("prompt");
  if (prompt != nullptr && !prompt->empty()) {
    if (prompt->is_array() && std::ranges::all_of(*prompt, is_token)) {
      request.prompt = prompt->get<std::vector<std::int32_t>>();
    } else {
      fields.fail("prompt", *prompt, "an array of token ids");
    }
  }
  fields.integer("arrival_step", request.arrival_step);
  fields.integer("output_tokens", request.output_tokens);
  fields.name("decoding", request.decoding,
              {{"single", sim::Decoding::kSingle},
               {"parallel", sim::Decoding::kParallel},
               {"beam", sim::Decoding::kBeam}});
  std::int64_t width = request.width;
  fields.integer("width", width);
  if (width < 1 || width > 256) fields.fail("width", width, "1 to 256");
  request.width = static_cast<std::int32_t>(width);
  fields.number("temperature", request.temperature);
  std::int64_t seed = id;
  fields.integer("seed", seed);
  request.seed = static_cast<std::uint64_t>(seed);
  return fields.finish();
}

Status read_all(const Json& json, GenerateConfig& config) {
  Fields fields("", json);
  if (const Json* model = fields.take("model")) RECTO_RETURN_IF_ERROR(read_model(*model, config));
  if (const Json* cache = fields.take("cache")) {
    RECTO_RETURN_IF_ERROR(read_cache(*cache, config.engine));
  }
  if (const Json* scheduler = fields.take("scheduler")) {
    RECTO_RETURN_IF_ERROR(read_scheduler(*scheduler, config.engine));
  }
  const Json* requests = fields.take("requests");
  if (requests == nullptr || !requests->is_array() || requests->empty()) {
    fields.fail("requests", requests == nullptr ? Json() : *requests, "an array of requests");
    return fields.finish();
  }
  for (const Json& request : *requests) {
    const std::int64_t id = std::ssize(config.requests);
    RECTO_RETURN_IF_ERROR(read_request(request, id, config.requests.emplace_back()));
  }
  return fields.finish();
}

}  // namespace

// With this pool samples share their prompt, a prompt hits the cache, and the last request is
// preempted.
const char* example_config() {
  return R"({
  "model": {"vocabulary": 16, "hidden": 48, "layers": 2, "num_q_heads": 2, "num_kv_heads": 1,
            "head_dim": 64, "ffn": 64, "seed": 1},
  "cache": {"type": "fp16", "block_size": 4, "num_blocks": 12, "prefix_cache": true},
  "scheduler": {"max_sequences": 8, "max_batched_tokens": 16},
  "requests": [
    {"prompt": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "output_tokens": 8,
     "decoding": "parallel", "width": 2, "temperature": 1.0},
    {"prompt": [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14], "output_tokens": 6, "arrival_step": 2},
    {"prompt": [15, 14, 13, 12, 11], "output_tokens": 12, "arrival_step": 3}
  ]
}
)";
}

Result<GenerateConfig> parse_generate_config(const std::string& name, const std::string& text) {
  const Result<Json> json = parse_json(text);
  if (!json.is_ok()) return Status::invalid_input(name + ": expected JSON");
  GenerateConfig config;
  const Status status = read_all(json.value(), config);
  if (!status.is_ok()) return status.in(name);
  return config;
}

}  // namespace recto::experiments
