#include "reference/golden_case.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace recto::reference {
namespace {

using Json = nlohmann::json;

static_assert(std::numeric_limits<long double>::digits >= 64,
              "expected results must be kept with more digits than those compared with them");

// Reads fields by name; nlohmann throws if one is missing or of another type. What it cannot know
// to be wrong is kept in trouble().
class CaseReader {
 public:
  explicit CaseReader(const Json& file) : file_(file) {}

  GoldenCase read() {
    GoldenCase found;
    found.name = file_.at("name");
    found.why = file_.at("why");
    const std::string operation = file_.at("operation");
    if (operation == "paged_attention") {
      found.attention = read_attention();
    } else if (operation == "decode_step") {
      found.decode = read_decode();
    } else {
      complain("operation '" + operation + "'");
    }
    append_numbers(file_.at("expected").at("out"), found.out);
    append_numbers(file_.at("expected").at("lse_ln"), found.lse_ln);
    found.memory = std::move(memory_);
    return found;
  }

  const std::string& trouble() const { return trouble_; }

 private:
  PagedAttentionInputs read_attention() {
    memory_->query_start = file_.at("query_start").get<std::vector<std::int32_t>>();
    memory_->lengths = file_.at("context_length").get<std::vector<std::int32_t>>();
    return {.q = read_rows("q", memory_->q),
            .kv = read_kv(),
            .block_table = read_block_table(),
            .query_start = memory_->query_start,
            .context_length = memory_->lengths,
            .options = read_options()};
  }

  DecodeStepInputs read_decode() {
    memory_->lengths = file_.at("cached_length").get<std::vector<std::int32_t>>();
    return {.q = read_rows("q", memory_->q),
            .new_k = read_rows("new_k", memory_->new_k),
            .new_v = read_rows("new_v", memory_->new_v),
            .kv = read_kv(),
            .block_table = read_block_table(),
            .cached_length = memory_->lengths,
            .options = read_options()};
  }

  AttentionOptions read_options() {
    const Json& from = file_.at("options");
    memory_->alibi_slopes = from.at("alibi_slopes").get<std::vector<float>>();
    memory_->sinks = from.at("sinks").get<std::vector<float>>();
    AttentionOptions options{.scale = from.at("scale"),
                             .softcap = from.at("softcap"),
                             .causal = from.at("causal"),
                             .window = std::nullopt,
                             .alibi_slopes = memory_->alibi_slopes,
                             .sinks = memory_->sinks};
    if (!from.at("window").is_null()) options.window = from.at("window").get<std::int64_t>();
    return options;
  }

  BlockTableView read_block_table() {
    const Json& from = file_.at("block_table");
    for (const Json& row : from.at("rows")) {
      for (const Json& id : row) memory_->block_table.push_back(id);
    }
    return {.data = memory_->block_table.data(),
            .num_seqs = std::ssize(from.at("rows")),
            .max_blocks = from.at("max_blocks"),
            .row_stride = from.at("row_stride")};
  }

  RowsView read_rows(const char* name, std::vector<std::byte>& bytes) {
    const Json& from = file_.at(name);
    bytes = read_bytes(from.at("bytes"));
    return {.data = bytes.data(),
            .type = read_type(from),
            .num_rows = from.at("num_rows"),
            .num_heads = from.at("num_heads"),
            .head_dim = from.at("head_dim"),
            .row_stride = from.at("row_stride"),
            .head_stride = from.at("head_stride")};
  }

  PagedKvView read_kv() {
    for (const Json& lines : file_.at("buffers")) memory_->buffers.push_back(read_bytes(lines));
    return {.k = read_tensor(file_.at("k"), memory_->k_scales),
            .v = read_tensor(file_.at("v"), memory_->v_scales)};
  }

  KvTensorView read_tensor(const Json& from, std::vector<float>& scales) {
    const ElementType type = read_type(from);
    const std::int64_t first = from.at("first_element");
    scales = from.at("scales").get<std::vector<float>>();
    return {.data = buffer_of(from).data() + first * element_bytes(type),
            .type = type,
            .layout = read_layout(from),
            .num_blocks = from.at("num_blocks"),
            .block_size = from.at("block_size"),
            .num_kv_heads = from.at("num_kv_heads"),
            .head_dim = from.at("head_dim"),
            .block_stride = from.at("block_stride"),
            .head_stride = from.at("head_stride"),
            .slot_stride = from.at("slot_stride"),
            .pack_width = from.value("pack_width", std::int64_t{0}),
            .pack_stride = from.value("pack_stride", std::int64_t{0}),
            .scale = {.kind = scales.empty()       ? ScaleKind::kNone
                              : scales.size() == 1 ? ScaleKind::kPerTensor
                                                   : ScaleKind::kPerKvHead,
                      .data = scales.data()}};
  }

  const std::vector<std::byte>& buffer_of(const Json& from) {
    const std::size_t index = from.at("buffer");
    if (index >= memory_->buffers.size()) complain("buffer " + std::to_string(index));
    return index < memory_->buffers.size() ? memory_->buffers[index] : memory_->q;
  }

  ElementType read_type(const Json& from) {
    const std::string name = from.at("type");
    for (const ElementType type : kElementTypes) {
      if (name == element_type_name(type)) return type;
    }
    complain("type '" + name + "'");
    return {};
  }

  KvLayout read_layout(const Json& from) {
    const std::string name = from.at("layout");
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
      if (name == kv_layout_name(layout)) return layout;
    }
    complain("layout '" + name + "'");
    return {};
  }

  std::vector<std::byte> read_bytes(const Json& lines) {
    std::vector<std::byte> bytes;
    for (const Json& line : lines) {
      const std::string digits = line;
      for (std::size_t i = 0; i < digits.size(); i += 2) {
        unsigned value = 0;
        const char* end = digits.data() + std::min(i + 2, digits.size());
        if (std::from_chars(digits.data() + i, end, value, 16).ptr != digits.data() + i + 2) {
          complain("bytes '" + digits + "'");
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
    const std::string text = from;
    char* end = nullptr;
    numbers.push_back(std::strtold(text.c_str(), &end));
    if (text.empty() || *end != '\0') complain("number '" + text + "'");
  }

  void complain(const std::string& trouble) {
    if (trouble_.empty()) trouble_ = trouble + " is not known here";
  }

  const Json& file_;
  std::unique_ptr<GoldenMemory> memory_ = std::make_unique<GoldenMemory>();
  std::string trouble_;
};

}  // namespace

Result<GoldenCase> parse_golden_case(std::string_view text, const std::string& file_name) {
  try {
    const Json file = Json::parse(text.begin(), text.end());
    CaseReader reader(file);
    GoldenCase found = reader.read();
    if (reader.trouble().empty()) return found;
    return Status::invalid_input(file_name + ": " + reader.trouble());
  } catch (const Json::exception& error) {
    return Status::invalid_input(file_name + ": " + error.what());
  }
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
