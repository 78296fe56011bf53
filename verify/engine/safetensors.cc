#include "verify/engine/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "core/element_type.h"
#include "core/input_file.h"
#include "core/json.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kHeaderMax = 100'000'000;  // the format's own limit
constexpr const char* kMetadata = "__metadata__";

struct Type {
  const char* name;
  std::int64_t bytes;
  std::optional<ElementType> element;  // nothing: not a type of weights
};

constexpr Type kTypes[] = {{"BOOL", 1, {}},
                           {"U8", 1, {}},
                           {"I8", 1, {}},
                           {"F8_E5M2", 1, ElementType::kE5m2},
                           {"F8_E4M3", 1, ElementType::kE4m3},
                           {"I16", 2, {}},
                           {"U16", 2, {}},
                           {"F16", 2, ElementType::kFp16},
                           {"BF16", 2, ElementType::kBf16},
                           {"I32", 4, {}},
                           {"U32", 4, {}},
                           {"F32", 4, ElementType::kFp32},
                           {"I64", 8, {}},
                           {"U64", 8, {}},
                           {"F64", 8, {}}};

const Type* find_type(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kTypes, [name](const Type& type) { return name == type.name; });
  return found == std::end(kTypes) ? nullptr : found;
}

Status wrong(const std::string& place, const std::string& what) {
  return Status::invalid_input(fmt::format("{}: {}", place, what));
}

std::optional<std::int64_t> size_of(const Json& value) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kLargest) return std::nullopt;
  return value.get<std::int64_t>();
}

// Sizes have 64 bits, so products are checked for overflow before they are computed.
std::optional<std::int64_t> bytes_of(const std::vector<std::int64_t>& shape, std::int64_t each) {
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::int64_t bytes = each;
  for (const std::int64_t size : shape) {
    if (bytes > std::numeric_limits<std::int64_t>::max() / size) return std::nullopt;
    bytes *= size;
  }
  return bytes;
}

Status read_entry(const Json& json, std::size_t available, SafetensorsEntry& entry) {
  if (!json.is_object()) return Status::invalid_input("expected an object");
  for (const char* field : {"dtype", "shape", "data_offsets"}) {
    if (!json.contains(field)) return wrong(field, "expected, but missing");
  }
  if (json.size() != 3) {
    return Status::invalid_input("expected dtype, shape and data_offsets, and nothing else");
  }
  if (json["dtype"].is_string()) entry.type = json["dtype"].get<std::string>();
  const Type* const type = find_type(entry.type);
  if (type == nullptr) return wrong("dtype", "expected a type of the format, such as \"F32\"");
  if (!json["shape"].is_array()) return wrong("shape", "expected an array");
  for (const Json& size : json["shape"]) {
    const auto value = size_of(size);
    if (!value) return wrong("shape", "expected numbers of elements from 0 to 2^63 - 1");
    entry.shape.push_back(*value);
  }
  const Json& offsets = json["data_offsets"];
  const bool is_pair = offsets.is_array() && offsets.size() == 2;
  const auto begin = is_pair ? size_of(offsets[0]) : std::nullopt;
  const auto end = is_pair ? size_of(offsets[1]) : std::nullopt;
  if (!begin || !end) return wrong("data_offsets", "expected two numbers of bytes");
  entry.begin = *begin;
  entry.end = *end;
  if (*begin > *end || static_cast<std::size_t>(*end) > available) {
    return wrong("data_offsets",
                 fmt::format("{} to {}; expected an ascending pair within the {} bytes of data",
                             *begin, *end, available));
  }
  const auto expected = bytes_of(entry.shape, type->bytes);
  if (!expected || *end - *begin != *expected) {
    return wrong("data_offsets",
                 fmt::format("{} bytes; expected {} for {} of shape [{}]", *end - *begin,
                             expected ? fmt::format("{}", *expected) : "2^63 or more", entry.type,
                             fmt::join(entry.shape, ", ")));
  }
  return Status::ok();
}

// Checks that each tensor begins where the previous tensor of the file ends.
Status check_places(const std::map<std::string, SafetensorsEntry>& entries, std::size_t available) {
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [tensor, entry] : entries) {
    if (entry.begin != entry.end) order.emplace_back(entry.begin, tensor);
  }
  std::ranges::sort(order);
  std::int64_t end = 0;
  for (const auto& [begin, tensor] : order) {
    if (begin != end) {
      return wrong(
          "tensor \"" + tensor + "\"",
          fmt::format("begins at byte {}; expected {}, the end of the tensor before", begin, end));
    }
    end = entries.at(tensor).end;
  }
  if (static_cast<std::size_t>(end) == available) return Status::ok();
  return Status::invalid_input(
      fmt::format("{} bytes of data; expected {}, the end of the last tensor", available, end));
}

// Reads tensors and keeps the first failure.
struct Reader {
  const SafetensorsFile& file;
  Status status = Status::ok();

  Matrix matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
    const std::vector<double> values = read(name, std::array{rows, cols});
    return values.empty() ? Matrix() : Matrix(Eigen::Map<const Matrix>(values.data(), rows, cols));
  }
  Vector vector(const std::string& name, std::int64_t size) {
    const std::vector<double> values = read(name, std::array{size});
    return Eigen::Map<const Vector>(values.data(), std::ssize(values));
  }

  // Empty after a failure.
  std::vector<double> read(const std::string& name, std::span<const std::int64_t> shape) {
    if (!status.is_ok()) return {};
    Result<std::vector<double>> values = file.values(name, shape);
    status = values.status();
    if (!status.is_ok()) return {};
    for (std::size_t i = 0; i < values.value().size(); ++i) {
      if (std::isfinite(values.value()[i])) continue;
      status = Status::invalid_input(fmt::format(
          "tensor \"{}\": element {} is {}; expected finite numbers", name, i, values.value()[i]));
      return {};
    }
    return std::move(values).value();
  }
};

LayerWeights read_layer(Reader& reader, const ModelShape& shape, const std::string& name) {
  LayerWeights layer;
  layer.attention_norm = reader.vector(name + "input_layernorm.weight", shape.hidden);
  const std::string attention = name + "self_attn.";
  layer.q = reader.matrix(attention + "q_proj.weight", shape.q_size(), shape.hidden);
  layer.k = reader.matrix(attention + "k_proj.weight", shape.kv_size(), shape.hidden);
  layer.v = reader.matrix(attention + "v_proj.weight", shape.kv_size(), shape.hidden);
  if (shape.has_qk_norm) {
    layer.q_norm = reader.vector(attention + "q_norm.weight", shape.head_dim);
    layer.k_norm = reader.vector(attention + "k_norm.weight", shape.head_dim);
  }
  layer.o = reader.matrix(attention + "o_proj.weight", shape.hidden, shape.q_size());
  layer.ffn_norm = reader.vector(name + "post_attention_layernorm.weight", shape.hidden);
  layer.gate = reader.matrix(name + "mlp.gate_proj.weight", shape.ffn, shape.hidden);
  layer.up = reader.matrix(name + "mlp.up_proj.weight", shape.ffn, shape.hidden);
  layer.down = reader.matrix(name + "mlp.down_proj.weight", shape.hidden, shape.ffn);
  return layer;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::read(const std::string& path) {
  Result<std::string> bytes = read_input_file(path);
  if (bytes.is_ok()) return parse(path, std::move(bytes).value());
  return wrong(path, bytes.status().message() + "; expected a safetensors file");
}

Result<SafetensorsFile> SafetensorsFile::parse(const std::string& name, std::string bytes) {
  SafetensorsFile file;
  file.name_ = name;
  file.bytes_ = std::move(bytes);
  if (file.bytes_.size() < kLengthBytes) {
    return wrong(name, fmt::format("{} bytes; expected the header's length in the first 8",
                                   file.bytes_.size()));
  }
  std::uint64_t length = 0;  // little-endian, as all numbers here
  std::memcpy(&length, file.bytes_.data(), kLengthBytes);
  const std::uint64_t most = std::min<std::uint64_t>(file.bytes_.size() - kLengthBytes, kHeaderMax);
  if (length > most) {
    return wrong(
        name,
        fmt::format(
            "header length = {}; expected at most {}, the bytes after it or the format's limit",
            length, most));
  }
  file.data_begin_ = kLengthBytes + length;
  const Status status =
      file.read_header(std::string_view(file.bytes_).substr(kLengthBytes, length));
  if (!status.is_ok()) return status.in(name);
  return file;
}

Status SafetensorsFile::read_header(std::string_view header) {
  const JsonReading reading = read_json(header);
  if (!reading.json.is_object()) return wrong("header", "expected a JSON object");
  // JSON would silently keep one of two equal keys.
  for (const RepeatedKey& name : reading.repeated) {
    if (name.object.empty()) {
      return wrong("header", "\"" + name.key + "\" is given twice; expected once");
    }
  }
  for (const auto& [tensor, json] : reading.json.items()) {
    if (tensor == kMetadata) continue;
    RECTO_RETURN_IF_ERROR(
        read_entry(json, data().size(), entries_[tensor]).in("tensor \"" + tensor + "\""));
  }
  return check_places(entries_, data().size());
}

Result<std::vector<double>> SafetensorsFile::values(const std::string& tensor,
                                                    std::span<const std::int64_t> shape) const {
  const std::string place = name_ + ": tensor \"" + tensor + "\"";
  const auto found = entries_.find(tensor);
  if (found == entries_.end()) return wrong(place, "expected, but missing");
  const SafetensorsEntry& entry = found->second;
  if (!std::ranges::equal(entry.shape, shape)) {
    return wrong(place, fmt::format("shape [{}]; expected [{}]", fmt::join(entry.shape, ", "),
                                    fmt::join(shape, ", ")));
  }
  const Type& type = *find_type(entry.type);
  if (!type.element) {
    return wrong(place,
                 fmt::format("dtype {}; expected F32, F16, BF16, F8_E4M3 or F8_E5M2", entry.type));
  }
  std::vector<double> values;
  for (std::int64_t at = entry.begin; at < entry.end; at += type.bytes) {
    std::uint32_t code = 0;
    std::memcpy(&code, data().data() + at, static_cast<std::size_t>(type.bytes));
    values.push_back(reference::decode(code, *type.element));
  }
  return values;
}

Result<ModelWeights> weights_of(const SafetensorsFile& file, const ModelShape& shape) {
  RECTO_RETURN_IF_ERROR(check_shape(shape));
  Reader reader{file};
  ModelWeights weights;
  weights.shape = shape;
  weights.embedding = reader.matrix("model.embed_tokens.weight", shape.vocabulary, shape.hidden);
  for (std::int64_t layer = 0; layer < shape.layers && reader.status.is_ok(); ++layer) {
    weights.layers.push_back(read_layer(reader, shape, fmt::format("model.layers.{}.", layer)));
  }
  weights.final_norm = reader.vector("model.norm.weight", shape.hidden);
  weights.head = file.entries().contains("lm_head.weight")
                     ? reader.matrix("lm_head.weight", shape.vocabulary, shape.hidden)
                     : weights.embedding;
  RECTO_RETURN_IF_ERROR(reader.status);
  return weights;
}

}  // namespace recto::verify
