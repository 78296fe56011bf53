#include "reference/testing/golden_case.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include "core/json.h"

namespace recto::reference {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64,
              "expected results must be kept with more digits than those compared with them");

// Reads fields by name. trouble() names the first field that is missing, mistyped, or unknown.
class CaseReader {
 public:
  explicit CaseReader(const Json& file) : file_(file) {}

  GoldenCase read() {
    GoldenCase found;
    found.name = read<std::string>(file_, "name");
    found.why = read<std::string>(file_, "why");
    const auto operation = read<std::string>(file_, "operation");
    if (operation == "paged_attention") {
      found.attention = read_attention();
    } else if (operation == "decode_step") {
      found.decode = read_decode();
    } else {
      complain_of_unknown("operation '" + operation + "'");
    }
    append_numbers(at(at(file_, "expected"), "out"), found.out);
    append_numbers(at(at(file_, "expected"), "lse_ln"), found.lse_ln);
    found.memory = std::move(memory_);
    return found;
  }

  const std::string& trouble() const { return trouble_; }

 private:
  PagedAttentionInputs read_attention() {
    memory_->query_start = read<std::vector<std::int32_t>>(file_, "query_start");
    memory_->lengths = read<std::vector<std::int32_t>>(file_, "context_length");
    return {.q = read_rows("q", memory_->q),
            .kv = read_kv(),
            .block_table = read_block_table(),
            .query_start = memory_->query_start,
            .context_length = memory_->lengths,
            .options = read_options()};
  }

  DecodeStepInputs read_decode() {
    memory_->lengths = read<std::vector<std::int32_t>>(file_, "cached_length");
    return {.q = read_rows("q", memory_->q),
            .new_k = read_rows("new_k", memory_->new_k),
            .new_v = read_rows("new_v", memory_->new_v),
            .kv = read_kv(),
            .block_table = read_block_table(),
            .cached_length = memory_->lengths,
            .options = read_options()};
  }

  AttentionOptions read_options() {
    const Json& from = at(file_, "options");
    memory_->options = {.alibi_slopes = read<std::vector<float>>(from, "alibi_slopes"),
                        .sinks = read<std::vector<float>>(from, "sinks")};
    memory_->options.scale = read<float>(from, "scale");
    memory_->options.softcap = read<float>(from, "softcap");
    memory_->options.causal = read<bool>(from, "causal");
    if (!at(from, "window").is_null()) memory_->options.window = size(from, "window");
    return options_as<AttentionOptions>(memory_->options);
  }

  BlockTableView read_block_table() {
    const Json& from = at(file_, "block_table");
    const auto rows = read<std::vector<std::vector<std::int32_t>>>(from, "rows");
    for (const std::vector<std::int32_t>& row : rows) {
      memory_->block_table.insert(memory_->block_table.end(), row.begin(), row.end());
    }
    return {.data = memory_->block_table.data(),
            .num_seqs = std::ssize(rows),
            .max_blocks = size(from, "max_blocks"),
            .row_stride = size(from, "row_stride")};
  }

  RowsView read_rows(const char* name, std::vector<std::byte>& bytes) {
    const Json& from = at(file_, name);
    bytes = bytes_of(read<std::vector<std::string>>(from, "bytes"));
    return {.data = bytes.data(),
            .type = read_type(from),
            .num_rows = size(from, "num_rows"),
            .num_heads = size(from, "num_heads"),
            .head_dim = size(from, "head_dim"),
            .row_stride = size(from, "row_stride"),
            .head_stride = size(from, "head_stride")};
  }

  PagedKvView read_kv() {
    for (const auto& lines : read<std::vector<std::vector<std::string>>>(file_, "buffers")) {
      memory_->buffers.push_back(bytes_of(lines));
    }
    return {.k = read_tensor(at(file_, "k"), memory_->k_scales),
            .v = read_tensor(at(file_, "v"), memory_->v_scales)};
  }

  KvTensorView read_tensor(const Json& from, std::vector<float>& scales) {
    const ElementType type = read_type(from);
    const std::int64_t first = size(from, "first_element");
    scales = read<std::vector<float>>(from, "scales");
    return {.data = buffer_of(from).data() + first * element_bytes(type),
            .type = type,
            .layout = read_layout(from),
            .num_blocks = size(from, "num_blocks"),
            .block_size = size(from, "block_size"),
            .num_kv_heads = size(from, "num_kv_heads"),
            .head_dim = size(from, "head_dim"),
            .block_stride = size(from, "block_stride"),
            .head_stride = size(from, "head_stride"),
            .slot_stride = size(from, "slot_stride"),
            .pack_width = from.contains("pack_width") ? size(from, "pack_width") : 0,
            .pack_stride = from.contains("pack_stride") ? size(from, "pack_stride") : 0,
            .scale = {.kind = scales.empty()       ? ScaleKind::kNone
                              : scales.size() == 1 ? ScaleKind::kPerTensor
                                                   : ScaleKind::kPerKvHead,
                      .data = scales.data()}};
  }

  const std::vector<std::byte>& buffer_of(const Json& from) {
    const auto index = static_cast<std::size_t>(size(from, "buffer"));
    if (index >= memory_->buffers.size()) complain_of_unknown("buffer " + std::to_string(index));
    return index < memory_->buffers.size() ? memory_->buffers[index] : memory_->q;
  }

  ElementType read_type(const Json& from) {
    const auto name = read<std::string>(from, "type");
    for (const ElementType type : kElementTypes) {
      if (name == element_type_name(type)) return type;
    }
    complain_of_unknown("type '" + name + "'");
    return {};
  }

  KvLayout read_layout(const Json& from) {
    const auto name = read<std::string>(from, "layout");
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
      if (name == kv_layout_name(layout)) return layout;
    }
    complain_of_unknown("layout '" + name + "'");
    return {};
  }

  std::vector<std::byte> bytes_of(const std::vector<std::string>& lines) {
    std::vector<std::byte> bytes;
    for (const std::string& digits : lines) {
      for (std::size_t i = 0; i < digits.size(); i += 2) {
        unsigned value = 0;
        const char* end = digits.data() + std::min(i + 2, digits.size());
        if (std::from_chars(digits.data() + i, end, value, 16).ptr != digits.data() + i + 2) {
          complain_of_unknown("bytes '" + digits + "'");
        }
        bytes.push_back(static_cast<std::byte>(value));
      }
    }
    return bytes;
  }

  void append_numbers(const Json& from, std::vector<long double>& numbers) {
    if (from.is_array()) {
      for (const Json& entry : from) append_numbers(entry, numbers);
      return;
    }
    const auto text = checked<std::string>(from, "a number");
    char* end = nullptr;
    numbers.push_back(std::strtold(text.c_str(), &end));
    if (text.empty() || *end != '\0') complain_of_unknown("number '" + text + "'");
  }

  // Null if there is no such field.
  const Json& at(const Json& from, const std::string& name) {
    static const Json kNone;
    const Json* const found = from.find(name);
    if (found == nullptr) complain("field '" + name + "' not found");
    return found == nullptr ? kNone : *found;
  }

  template <typename T>
  T read(const Json& from, const std::string& name) {
    return checked<T>(at(from, name), name);
  }
  std::int64_t size(const Json& from, const char* name) { return read<std::int64_t>(from, name); }

  template <typename T>
  T checked(const Json& json, const std::string& name) {
    if constexpr (std::is_same_v<T, bool>) {
      if (json.is_boolean()) return json.get<T>();
      complain(name + " must be boolean");
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (json.is_number()) return json.get<T>();
      complain(name + " must be a number");
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (json.is_string()) return json.get<T>();
      complain(name + " must be a string");
    } else {
      T items;
      if (!json.is_array()) complain(name + " must be an array");
      if (!json.is_array()) return items;
      for (const Json& item : json) items.push_back(checked<typename T::value_type>(item, name));
      return items;
    }
    return {};
  }

  void complain_of_unknown(const std::string& what) { complain(what + " is not known here"); }
  void complain(const std::string& trouble) {
    if (trouble_.empty()) trouble_ = trouble;
  }

  const Json& file_;
  std::unique_ptr<GoldenMemory> memory_ = std::make_unique<GoldenMemory>();
  std::string trouble_;
};

}  // namespace

Result<GoldenCase> parse_golden_case(std::string_view text, const std::string& file_name) {
  const Result<Json> file = parse_json(text);
  if (!file.is_ok()) {
    return Status::invalid_input(file_name + ": parse error, " + file.status().message());
  }
  CaseReader reader(file.value());
  GoldenCase found = reader.read();
  if (reader.trouble().empty()) return found;
  return Status::invalid_input(file_name + ": " + reader.trouble());
}

Result<std::vector<GoldenCase>> load_golden_cases(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  if (paths.empty())
    return Status::invalid_input(folder + ": expected golden cases, found nothing");
  std::sort(paths.begin(), paths.end());
  std::vector<GoldenCase> cases;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    Result<GoldenCase> found = parse_golden_case(text, path.string());
    if (!found.is_ok()) return found.status();
    if (found.value().name != path.stem()) {
      return Status::invalid_input(path.string() + ": is about " + found.value().name);
    }
    cases.push_back(std::move(found).value());
  }
  return cases;
}

}  // namespace recto::reference
