#include "verify/cases/case_spec.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <utility>

namespace recto::verify {
namespace {

// Lines of "topic     item, item", wrapped; topics without items are left out.
class Block {
 public:
  void add(const char* topic, const std::vector<std::string>& items) {
    if (items.empty()) return;
    constexpr std::size_t kColumns = 88;
    std::string line;
    for (const std::string& item : items) {
      if (!line.empty()) line += ",";
      if (line.size() + item.size() > kColumns) {
        add_line(std::exchange(topic, ""), line);
        line.clear();
      }
      line += (line.empty() ? "" : " ") + item;
    }
    add_line(topic, line);
  }

  void add_line(const char* topic, const std::string& line) {
    out_ << (is_empty_ ? "" : "\n") << std::left << std::setw(11) << topic << line;
    is_empty_ = false;
  }

  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
  bool is_empty_ = true;
};

// Prints a float so that it can be read back exactly.
std::string number(float value) {
  std::ostringstream out;
  out << std::setprecision(9) << value;
  return out.str();
}

std::string number(std::int64_t value) { return std::to_string(value); }

std::string scales_text(ScaleKind kind, const char* tensor) {
  const char* kinds[] = {"no", "one", "per-head"};
  return std::string(kinds[static_cast<int>(kind)]) + " " + tensor + " scale";
}

std::vector<std::string> shape_items(const ProblemShape& shape) {
  return {number(shape.num_q_heads) + " q heads", number(shape.num_kv_heads) + " KV heads",
          "head dim " + number(shape.head_dim_k) + " of q and k",
          number(shape.head_dim_v) + " of v",
          std::string(element_type_name(shape.q_type)) + " / " + element_type_name(shape.kv_type)};
}

std::vector<std::string> option_items(const OptionsSpec& options) {
  std::vector<std::string> items;
  if (options.scale != 1.0F) items.push_back("scale " + number(options.scale));
  if (options.softcap != 0.0F) items.push_back("softcap " + number(options.softcap));
  if (!options.causal) items.emplace_back("not causal");
  if (options.window) items.push_back("window " + number(*options.window));
  if (options.alibi != AlibiFamily::kNone) {
    items.push_back(std::string("alibi ") + alibi_family_name(options.alibi));
  }
  if (options.sinks != SinkFamily::kNone) {
    items.push_back(std::string("sinks ") + sink_family_name(options.sinks) +
                    (options.has_sinks_of_q_type ? " of q's type" : ""));
  }
  if (options.k_scales != ScaleKind::kNone) items.push_back(scales_text(options.k_scales, "k"));
  if (options.v_scales != ScaleKind::kNone) items.push_back(scales_text(options.v_scales, "v"));
  return items;
}

std::vector<std::string> placement_items(const Placement& placement) {
  std::vector<std::string> items = {kv_layout_name(placement.layout),
                                    "block size " + number(placement.block_size)};
  if (placement.order != BlockOrder::kAscending) {
    items.emplace_back(block_order_name(placement.order));
  }
  const auto add_size = [&](const char* name, std::int64_t size) {
    if (size != 0) items.push_back(name + number(size));
  };
  add_size("spare blocks ", placement.spare_blocks);
  add_size("block padding ", placement.block_padding);
  add_size("row padding ", placement.row_padding);
  add_size("table padding ", placement.table_padding);
  for (const GapField& field : kGapFields) {
    const std::int64_t gap = placement.gaps.*field.gap;
    if (gap != 0) items.push_back(std::string("gap of ") + field.name + " " + number(gap));
  }
  if (placement.garbage_beyond_table) items.emplace_back("garbage beyond table");
  if (placement.shares_prefixes) items.emplace_back("shared prefixes");
  if (placement.poison != Poison::kZero) {
    items.push_back(std::string("poison ") + poison_name(placement.poison));
  }
  if (placement.poisoned != PoisonedTensors::kBoth) {
    items.push_back(std::string("poison of ") + poisoned_tensors_name(placement.poisoned));
  }
  if (placement.tails != PoisonLimit::kAny) {
    items.push_back(std::string("in tails ") + poison_limit_name(placement.tails));
  }
  if (placement.seed != 0) items.push_back("seed " + std::to_string(placement.seed));
  return items;
}

// A table of the sequences, one per line.
void add_sequences(const std::vector<SequenceSpec>& sequences, Block& block) {
  std::ostringstream header;
  header << std::right << std::setw(6) << "rows" << std::setw(9) << "context" << std::setw(5)
         << "id";
  block.add_line("sequences", header.str());
  for (const SequenceSpec& sequence : sequences) {
    std::ostringstream line;
    line << std::right << std::setw(6) << sequence.num_rows << std::setw(9)
         << sequence.context_length << std::setw(5) << sequence.id;
    block.add_line("", line.str());
  }
}

}  // namespace

std::int64_t CaseSpec::num_rows() const {
  std::int64_t rows = 0;
  for (const SequenceSpec& sequence : sequences) rows += sequence.num_rows;
  return rows;
}

std::int64_t CaseSpec::longest_context() const {
  std::int64_t longest = 0;
  for (const SequenceSpec& sequence : sequences) {
    longest = std::max(longest, sequence.context_length);
  }
  return longest;
}

TokenRange CaseSpec::tokens_varied() const {
  const std::int64_t longest = has_plain_kv() ? 0 : longest_context();
  const TokenRange all{.begin = 0, .end = longest};
  if (!varied_tokens) return all;
  return {std::min(varied_tokens->begin, longest), std::min(varied_tokens->end, longest)};
}

std::string CaseSpec::text() const {
  Block block;
  block.add("shape", shape_items(shape));
  block.add("options", option_items(options));
  add_sequences(sequences, block);
  if (shared_prefix > 0) block.add("prefix", {number(shared_prefix) + " tokens in common"});
  block.add("values",
            {std::string("q ") + float_family_name(q), std::string("k ") + float_family_name(k),
             std::string("v ") + float_family_name(v), "seed " + std::to_string(seed)});
  if (varied_tokens) {
    block.add("", {"k and v of tokens from " + number(varied_tokens->begin) + " on, before " +
                   number(varied_tokens->end) + ", else ones"});
  }
  block.add("placement", placement_items(placement));
  return block.text();
}

std::ostream& operator<<(std::ostream& out, const CaseSpec& spec) { return out << spec.text(); }

}  // namespace recto::verify
