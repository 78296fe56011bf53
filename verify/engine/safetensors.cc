#include "verify/engine/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/element_type.h"
#include "core/input_file.h"
#include "core/json.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kHeaderMax = 100'000'000;  // the format's own limit
constexpr const char* kMetadata = "__metadata__";

struct Type {
  const char* name;
  std::int64_t bytes;
  std::optional<ElementType> element;  // none: not a type of weights
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
  if (!value.is_number_unsigned()) return std::nullopt;
  const auto number = value.get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(number);
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

Status read_entry(const Json& json, SafetensorsEntry& entry) {
  if (!json.is_object()) return Status::invalid_input("expected an object");
  for (const char* field : {"dtype", "shape", "data_offsets"}) {
    if (!json.contains(field)) return wrong(field, "expected, and not there");
  }
  if (json.size() != 3) {
    return Status::invalid_input("expected dtype, shape and data_offsets, and nothing else");
  }
  if (!json["dtype"].is_string() || find_type(json["dtype"].get<std::string>()) == nullptr) {
    return wrong("dtype", "expected a type of the format, such as \"F32\"");
  }
  entry.type = json["dtype"].get<std::string>();
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
  return Status::ok();
}

Status check_size(const SafetensorsEntry& entry, std::int64_t available) {
  if (entry.begin > entry.end || entry.end > available) {
    return wrong("data_offsets",
                 fmt::format("{} to {}; expected an ascending pair within the {} bytes of data",
                             entry.begin, entry.end, available));
  }
  const auto expected = bytes_of(entry.shape, find_type(entry.type)->bytes);
  if (!expected || entry.end - entry.begin != *expected) {
    return wrong("data_offsets",
                 fmt::format("{} bytes; expected {} for {} of shape [{}]", entry.end - entry.begin,
                             expected ? fmt::format("{}", *expected) : "2^63 or more", entry.type,
                             fmt::join(entry.shape, ", ")));
  }
  return Status::ok();
}

// Parses the header and refuses repeated names, of which JSON would silently keep one.
Result<Json> parse_header(std::string_view header) {
  JsonReading reading = read_json(header);
  if (!reading.json.is_object()) return Status::invalid_input("header: expected a JSON object");
  for (const RepeatedKey& name : reading.repeated) {
    if (!name.object.empty()) continue;
    return wrong("header", "\"" + name.key + "\" stands twice; expected once");
  }
  return std::move(reading.json);
}

double decode(const char* bytes, const Type& type) {
  std::uint64_t code = 0;
  for (std::int64_t i = 0; i < type.bytes; ++i) {
    code |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return reference::decode(static_cast<std::uint32_t>(code), *type.element);
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
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<std::uint64_t>(static_cast<unsigned char>(file.bytes_[i])) << (8 * i);
  }
  const std::uint64_t most = std::min<std::uint64_t>(file.bytes_.size() - kLengthBytes, kHeaderMax);
  if (length > most) {
    return wrong(name, fmt::format("header length = {}; expected at most {}, what follows it or "
                                   "the format's limit",
                                   length, most));
  }
  file.data_ = kLengthBytes + length;
  const Status status =
      file.read_header(std::string_view(file.bytes_).substr(kLengthBytes, length));
  if (!status.is_ok()) return status.in(name);
  return file;
}

Status SafetensorsFile::read_header(std::string_view header) {
  const Result<Json> parsed = parse_header(header);
  RECTO_RETURN_IF_ERROR(parsed.status());
  const auto available = static_cast<std::int64_t>(bytes_.size() - data_);
  for (const auto& [tensor, json] : parsed.value().items()) {
    if (tensor == kMetadata) continue;
    SafetensorsEntry entry;
    const std::string place = "tensor \"" + tensor + "\"";
    RECTO_RETURN_IF_ERROR(read_entry(json, entry).in(place));
    RECTO_RETURN_IF_ERROR(check_size(entry, available).in(place));
    entries_.emplace(tensor, std::move(entry));
  }
  return check_places();
}

// Checks that in the file's order each tensor begins where the one before ended.
Status SafetensorsFile::check_places() const {
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [tensor, entry] : entries_) {
    if (entry.begin != entry.end) order.emplace_back(entry.begin, tensor);
  }
  std::ranges::sort(order);
  std::int64_t end = 0;
  for (const auto& [begin, tensor] : order) {
    if (begin != end) {
      return wrong(
          "tensor \"" + tensor + "\"",
          fmt::format("begins at byte {}; expected {}, where the one before ends", begin, end));
    }
    end = entries_.at(tensor).end;
  }
  const auto available = static_cast<std::int64_t>(bytes_.size() - data_);
  if (end == available) return Status::ok();
  return Status::invalid_input(
      fmt::format("{} bytes of data; expected {}, where the last tensor ends", available, end));
}

Result<std::vector<double>> SafetensorsFile::values(const std::string& tensor,
                                                    std::span<const std::int64_t> shape) const {
  const std::string place = name_ + ": tensor \"" + tensor + "\"";
  const auto found = entries_.find(tensor);
  if (found == entries_.end()) return wrong(place, "expected, and not there");
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
  const char* data = bytes_.data() + data_;
  for (std::int64_t at = entry.begin; at < entry.end; at += type.bytes) {
    values.push_back(decode(data + at, type));
  }
  return values;
}

}  // namespace recto::verify
