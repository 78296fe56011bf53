#include "verify/cases/case_files/input_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/attention_gate.h"
#include "core/dense_kv_view.h"
#include "core/refusal.h"
#include "verify/cases/case_files/case_arrays.h"

namespace recto::verify {
namespace {

constexpr std::array<ElementType, 5> kTypes = {ElementType::kFp32, ElementType::kFp16,
                                               ElementType::kBf16, ElementType::kE4m3,
                                               ElementType::kE5m2};
constexpr std::array<KvLayout, 3> kLayouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor,
                                              KvLayout::kPacked};

Status wrong(const char* name, const std::string& expected, const NpyArray* found) {
  return Status::invalid_input(fmt::format("{}: expected {}, found {}", name, expected,
                                           found == nullptr ? "none" : npy_array_text(*found)));
}

const NpyArray* find(const NpzArrays& arrays, const char* name) {
  const auto found = arrays.find(name);
  return found == arrays.end() ? nullptr : &found->second;
}

// The array of this type and number of dimensions.
Result<const NpyArray*> find(const NpzArrays& arrays, const char* name, NpyType type,
                             std::size_t dimensions) {
  const NpyArray* const found = find(arrays, name);
  const NpyArray wanted{.type = type, .item_bytes = found == nullptr ? 4 : found->item_bytes};
  if (found == nullptr || found->type != type || found->shape.size() != dimensions) {
    return wrong(name, fmt::format("{} of {} dimensions", npy_type_name(wanted), dimensions),
                 found);
  }
  return found;
}

// Text is stored in 32 bits per character.
std::string text_of(const NpyArray& array) {
  std::string text;
  for (std::size_t i = 0; i + 4 <= array.data.size(); i += 4) {
    const char c = static_cast<char>(array.data[i]);
    if (c != '\0') text += c;
  }
  return text;
}

template <typename Choice, typename Choices, typename NameOf>
Result<Choice> choose(const NpzArrays& arrays, const char* name, const Choices& choices,
                      const NameOf& name_of) {
  const NpyArray* const found = find(arrays, name);
  for (const Choice& choice : choices) {
    if (found != nullptr && found->type == NpyType::kText && text_of(*found) == name_of(choice))
      return choice;
  }
  return wrong(name, "one of " + list_names(choices, name_of), found);
}

// One number; `otherwise` if there is no such array.
template <typename T>
Result<T> number(const NpzArrays& arrays, const char* name, NpyType type, T otherwise) {
  const NpyArray* const found = find(arrays, name);
  if (found == nullptr) return otherwise;
  if (found->type != type || found->count() != 1) return wrong(name, "one number", found);
  return found->at<T>(0);
}

template <typename T>
std::span<const T> items(const NpyArray& array) {
  return {reinterpret_cast<const T*>(array.data.data()), static_cast<std::size_t>(array.count())};
}

}  // namespace

Status InputArrays::read_rows(ElementType type) {
  const auto found = find(arrays_, "q", npy_type_of(type), 3);
  RECTO_RETURN_IF_ERROR(found.status());
  const std::vector<std::int64_t>& shape = found.value()->shape;
  inputs_.q =
      dense_rows<const void*>(found.value()->data.data(), type, shape[0], shape[1], shape[2]);
  return Status::ok();
}

Status InputArrays::read_caches(ElementType type) {
  const auto layout = choose<KvLayout>(arrays_, "layout", kLayouts, kv_layout_name);
  RECTO_RETURN_IF_ERROR(layout.status());
  const bool is_packed = layout.value() == KvLayout::kPacked;
  const auto k = find(arrays_, "k_cache", npy_type_of(type), is_packed ? 5 : 4);
  RECTO_RETURN_IF_ERROR(k.status());
  const auto v = find(arrays_, "v_cache", npy_type_of(type), 4);
  RECTO_RETURN_IF_ERROR(v.status());
  const std::vector<std::int64_t>& ks = k.value()->shape;
  const std::vector<std::int64_t>& vs = v.value()->shape;
  const bool by_token = layout.value() == KvLayout::kTokenMajor;
  KvPoolShape shape{.layout = layout.value(), .type = type, .num_blocks = ks[0]};
  shape.block_size = is_packed ? ks[3] : ks[by_token ? 1 : 2];
  shape.num_kv_heads = ks[by_token ? 2 : 1];
  shape.head_dim_k = is_packed ? ks[2] * ks[4] : ks[3];
  shape.head_dim_v = vs[is_packed ? 2 : 3];
  // The views are only read.
  const auto view = dense_kv_view(shape, const_cast<std::byte*>(k.value()->data.data()),
                                  const_cast<std::byte*>(v.value()->data.data()));
  RECTO_RETURN_IF_ERROR(view.status().in("k_cache, v_cache"));
  inputs_.kv = {.k = as_const(view.value().k), .v = as_const(view.value().v)};
  const std::pair<const char*, const KvTensorView*> caches[] = {{"k_cache", &inputs_.kv.k},
                                                                {"v_cache", &inputs_.kv.v}};
  for (const auto& [name, cache] : caches) {
    const std::vector<std::int64_t> expected = pool_shape(*cache);
    const NpyArray* const found = find(arrays_, name);
    if (found->shape == expected) continue;
    return wrong(name, fmt::format("[{}]", fmt::join(expected, ", ")), found);
  }
  RECTO_RETURN_IF_ERROR(read_scale("k_scale", inputs_.kv.k));
  return read_scale("v_scale", inputs_.kv.v);
}

// A scale of one is none.
Status InputArrays::read_scale(const char* name, KvTensorView& cache) {
  const NpyArray* const found = find(arrays_, name);
  if (found == nullptr) return Status::ok();
  const bool has_type = found->type == NpyType::kFloat32 && found->shape.size() == 1;
  const bool is_single = has_type && found->count() == 1;
  if (!is_single && (!has_type || found->count() != cache.num_kv_heads))
    return wrong(name, fmt::format("float32 [1] or [{}]", cache.num_kv_heads), found);
  const std::span<const float> values = items<float>(*found);
  if (is_single && values[0] == 1.0F) return Status::ok();
  cache.scale = {.kind = is_single ? ScaleKind::kPerTensor : ScaleKind::kPerKvHead,
                 .data = values.data()};
  return Status::ok();
}

Status InputArrays::read_lists() {
  const auto table = find(arrays_, "block_table", NpyType::kInt32, 2);
  RECTO_RETURN_IF_ERROR(table.status());
  const auto lengths = find(arrays_, "context_length", NpyType::kInt32, 1);
  RECTO_RETURN_IF_ERROR(lengths.status());
  const std::vector<std::int64_t>& shape = table.value()->shape;
  inputs_.block_table = {.data = items<std::int32_t>(*table.value()).data(),
                         .num_seqs = shape[0],
                         .max_blocks = shape[1],
                         .row_stride = shape[1]};
  inputs_.context_length = items<std::int32_t>(*lengths.value());
  if (std::ssize(inputs_.context_length) != shape[0])
    return wrong("context_length", fmt::format("[{}], as block_table", shape[0]), lengths.value());
  if (find(arrays_, "query_start") == nullptr) {
    std::vector<std::int32_t> starts;
    for (std::int64_t s = 0; s <= shape[0]; ++s) starts.push_back(static_cast<std::int32_t>(s));
    arrays_["query_start"] = make_npy_array(NpyType::kInt32, {shape[0] + 1}, starts);
  }
  const auto starts = find(arrays_, "query_start", NpyType::kInt32, 1);
  RECTO_RETURN_IF_ERROR(starts.status());
  inputs_.query_start = items<std::int32_t>(*starts.value());
  return Status::ok();
}

// Values of which each is `none` are left out.
Status InputArrays::read_heads(const char* name, float none, std::span<const float>& values) {
  const NpyArray* const found = find(arrays_, name);
  if (found == nullptr) return Status::ok();
  if (found->type != NpyType::kFloat32 || found->shape != std::vector{inputs_.q.num_heads})
    return wrong(name, fmt::format("float32 [{}]", inputs_.q.num_heads), found);
  const auto is_none = [none](float value) { return value == none; };
  if (!std::ranges::all_of(items<float>(*found), is_none)) values = items<float>(*found);
  return Status::ok();
}

Status InputArrays::read_options() {
  AttentionOptions& options = inputs_.options;
  const auto scale = number<float>(arrays_, "scale", NpyType::kFloat32, 1.0F);
  RECTO_RETURN_IF_ERROR(scale.status());
  const auto softcap = number<float>(arrays_, "softcap", NpyType::kFloat32, 0.0F);
  RECTO_RETURN_IF_ERROR(softcap.status());
  const auto causal = number<std::uint8_t>(arrays_, "causal", NpyType::kBool, 1);
  RECTO_RETURN_IF_ERROR(causal.status());
  const auto window = number<std::int64_t>(arrays_, "window", NpyType::kInt64, 0);
  RECTO_RETURN_IF_ERROR(window.status());
  options.scale = scale.value();
  options.softcap = softcap.value();
  options.causal = causal.value() != 0;
  if (window.value() != 0) options.window = window.value();
  RECTO_RETURN_IF_ERROR(read_heads("alibi_slopes", 0.0F, options.alibi_slopes));
  return read_heads("sinks", -INFINITY, options.sinks);
}

Result<std::unique_ptr<InputArrays>> InputArrays::read(NpzArrays arrays) {
  std::unique_ptr<InputArrays> read(new InputArrays(std::move(arrays)));
  const auto q_type = choose<ElementType>(read->arrays_, "q_type", kTypes, element_type_name);
  RECTO_RETURN_IF_ERROR(q_type.status());
  const auto kv_type = choose<ElementType>(read->arrays_, "kv_type", kTypes, element_type_name);
  RECTO_RETURN_IF_ERROR(kv_type.status());
  RECTO_RETURN_IF_ERROR(read->read_rows(q_type.value()));
  RECTO_RETURN_IF_ERROR(read->read_caches(kv_type.value()));
  RECTO_RETURN_IF_ERROR(read->read_lists());
  RECTO_RETURN_IF_ERROR(read->read_options());
  RECTO_RETURN_IF_ERROR(check_contents(read->inputs_));
  return read;
}

}  // namespace recto::verify
