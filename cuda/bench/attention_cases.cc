#include "cuda/bench/attention_cases.h"

#include <utility>

namespace recto::bench {
namespace {

constexpr std::int64_t kBlockSizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256};
constexpr std::int64_t kGroups[] = {1, 4, 8};
constexpr std::int64_t kHeadDims[] = {64, 128, 256};
constexpr KvLayout kLayouts[] = {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked};

struct Types {
  ElementType q;
  ElementType kv;
};
constexpr Types kTypes[] = {{ElementType::kBf16, ElementType::kBf16},
                            {ElementType::kFp16, ElementType::kFp16},
                            {ElementType::kBf16, ElementType::kE4m3}};

// Fewer rows are tokens to be verified, which are memory-bound like decode.
constexpr std::int64_t kPromptRows = 64;

// A batch of equal contexts; in prefill, with query rows.
struct Point {
  std::int64_t batch;
  std::int64_t context;
  std::int64_t rows = 1;
};

// From a single short sequence to as much KV as a server holds.
constexpr Point kManyPoints[] = {{1, 1024},   {1, 4096},   {1, 32768}, {1, 131072},
                                 {8, 4096},   {64, 128},   {64, 1024}, {64, 4096},
                                 {64, 16384}, {16, 32768}, {256, 512}, {256, 4096}};
constexpr Point kFewPoints[] = {{8, 1024}, {8, 4096}, {64, 4096}, {256, 4096}};
constexpr Point kPrefillPoints[] = {{1, 512, 512}, {4, 1024, 1024}, {4, 4096, 1024}};
constexpr Point kLongPrefills[] = {{1, 16384, 2048}, {16, 2048, 512}, {64, 1024, 8}};

std::string family_of(const AttentionCase& made) {
  if (made.shape.rows_per_seq >= kPromptRows) return "prefill";
  if (made.shape.rows_per_seq > 1) return "prefill_few_rows";
  if (made.decode == DecodeChoice::kTma) return "decode_tma";
  if (made.decode == DecodeChoice::kReference) return "decode_reference";
  if (made.shape.lengths == Lengths::kSkewed) return "decode_skewed";
  if (made.shape.layout == KvLayout::kTokenMajor) return "decode_token_major";
  if (made.shape.layout == KvLayout::kPacked) return "decode_packed";
  return "decode";
}

std::string name_of(const AttentionCase& made) {
  const BatchShape& shape = made.shape;
  const bool is_contiguous = shape.placement == Placement::kContiguous;
  std::string name = family_of(made) + "/batch:" + std::to_string(shape.num_seqs) +
                     "/context:" + std::to_string(shape.context_length);
  if (shape.rows_per_seq > 1) name += "/rows:" + std::to_string(shape.rows_per_seq);
  return name + "/group:" + std::to_string(shape.group) +
         "/head_dim:" + std::to_string(shape.head_dim) +
         "/types:" + element_type_name(shape.q_type) + "-" + element_type_name(shape.kv_type) +
         "/block:" + (is_contiguous ? "contiguous" : std::to_string(shape.block_size));
}

class CaseList {
 public:
  void add(BatchShape shape, const Point& point, DecodeChoice decode = DecodeChoice::kByRule) {
    shape.num_seqs = point.batch;
    shape.context_length = point.context;
    shape.rows_per_seq = point.rows;
    AttentionCase made = {.name = {}, .shape = shape, .decode = decode};
    made.name = name_of(made);
    cases_.push_back(std::move(made));
  }

  template <typename Points>
  void add_all(const BatchShape& shape, const Points& points,
               DecodeChoice decode = DecodeChoice::kByRule) {
    for (const Point& point : points) add(shape, point, decode);
  }

  std::vector<AttentionCase> take() && { return std::move(cases_); }

 private:
  std::vector<AttentionCase> cases_;
};

BatchShape contiguous(BatchShape shape) {
  shape.placement = Placement::kContiguous;
  return shape;
}

// Adds blocks of 16 and contiguous caches, for comparison; all block sizes at fewer points.
void add_block_sizes(CaseList& list) {
  for (const std::int64_t group : kGroups) {
    for (const std::int64_t block : kBlockSizes) {
      const BatchShape shape = {.group = group, .block_size = block};
      if (block == 16) {
        list.add_all(shape, kManyPoints);
        list.add_all(shape, kLongPrefills);
      } else {
        list.add_all(shape, kFewPoints);
      }
      list.add_all(shape, kPrefillPoints);
    }
    const BatchShape whole = contiguous({.group = group});
    list.add_all(whole, kManyPoints);
    list.add_all(whole, kPrefillPoints);
    list.add_all(whole, kLongPrefills);
  }
}

void add_dims_and_types(CaseList& list) {
  for (const std::int64_t dim : kHeadDims) {
    if (dim == BatchShape().head_dim) continue;
    for (const std::int64_t group : kGroups) {
      const BatchShape shape = {.group = group, .head_dim = dim};
      list.add_all(shape, kFewPoints);
      list.add_all(contiguous(shape), kFewPoints);
      list.add_all(shape, kPrefillPoints);
    }
  }
  for (const Types& types : kTypes) {
    if (types.kv == BatchShape().kv_type) continue;
    for (const std::int64_t group : kGroups) {
      const BatchShape shape = {.group = group, .q_type = types.q, .kv_type = types.kv};
      list.add_all(shape, kFewPoints);
      list.add_all(shape, kPrefillPoints);
    }
  }
}

void add_other_families(CaseList& list) {
  constexpr Point kServing = {64, 4096};
  constexpr Point kSmall = {8, 1024};  // reference decode may read packed keys 36 times
  for (const std::int64_t block : {1, 16, 256}) {
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kPacked}) {
      list.add({.block_size = block, .layout = layout}, kServing);
    }
    for (const std::int64_t group : kGroups) {
      const BatchShape skewed = {.group = group, .block_size = block, .lengths = Lengths::kSkewed};
      list.add(skewed, kServing);
      list.add(skewed, {256, 16384});
      list.add({.group = group, .block_size = block}, kServing, DecodeChoice::kTma);
    }
    list.add({.block_size = block}, kSmall, DecodeChoice::kReference);
  }
}

std::vector<AttentionCase> default_cases() {
  CaseList list;
  add_block_sizes(list);
  add_dims_and_types(list);
  add_other_families(list);
  return std::move(list).take();
}

// The instantiated types and head dims (docs/kernels.md). Other cases would each print a skip
// message.
bool is_served_by_tma(const BatchShape& shape) {
  return !is_fp8(shape.kv_type) && shape.head_dim <= 128;
}
bool is_prefilled(const BatchShape& shape) {
  return !is_fp8(shape.kv_type) || shape.head_dim <= 128;
}

void add_grid_of(CaseList& list, const BatchShape& shape) {
  constexpr Point kQueries[] = {{1, 2048, 2048}, {4, 4096, 1024}, {1, 32768, 2048}};
  for (const std::int64_t batch : {1, 4, 16, 64, 256}) {
    for (const std::int64_t context : {128, 1024, 4096, 16384, 131072}) {
      const Point point = {batch, context};
      list.add(shape, point);
      BatchShape skewed = shape;
      skewed.lengths = Lengths::kSkewed;
      if (shape.layout != KvLayout::kHeadMajor) continue;
      list.add(skewed, point);
      if (is_served_by_tma(shape)) list.add(shape, point, DecodeChoice::kTma);
    }
  }
  if (shape.layout == KvLayout::kHeadMajor && is_prefilled(shape)) list.add_all(shape, kQueries);
}

std::vector<AttentionCase> full_cases() {
  CaseList list;
  for (const Types& types : kTypes) {
    for (const std::int64_t dim : kHeadDims) {
      for (const std::int64_t group : kGroups) {
        for (const KvLayout layout : kLayouts) {
          BatchShape shape = {.group = group,
                              .head_dim = dim,
                              .q_type = types.q,
                              .kv_type = types.kv,
                              .layout = layout};
          for (const std::int64_t block : kBlockSizes) {
            shape.block_size = block;
            add_grid_of(list, shape);
          }
          add_grid_of(list, contiguous(shape));
        }
      }
    }
  }
  return std::move(list).take();
}

}  // namespace

std::vector<AttentionCase> attention_cases(CaseSet set) {
  return set == CaseSet::kDefault ? default_cases() : full_cases();
}

std::vector<StepCase> step_cases() {
  std::vector<StepCase> cases;
  const auto add = [&](const std::string& kind_name, const BatchShape& shape, StepKind kind) {
    cases.push_back({.name = kind_name + "/batch:" + std::to_string(shape.num_seqs) +
                             "/context:" + std::to_string(shape.context_length),
                     .shape = shape,
                     .kind = kind});
  };
  for (const std::int64_t batch : {1, 8, 64}) {
    for (const std::int64_t context : {1024, 8192}) {
      const BatchShape shape = {.num_seqs = batch, .context_length = context};
      add("layers_launched", shape, StepKind::kLaunchedLayers);
      add("layers_replayed", shape, StepKind::kReplayedLayers);
    }
  }
  for (const Lengths lengths : {Lengths::kEqual, Lengths::kSkewed}) {
    const std::string of = lengths == Lengths::kSkewed ? "/lengths:skewed" : "/lengths:equal";
    for (const std::int64_t batch : {8, 64}) {
      for (const std::int64_t context : {1024, 8192}) {
        const BatchShape shape = {.num_seqs = batch,
                                  .context_length = context,
                                  .layout = KvLayout::kTokenMajor,
                                  .lengths = lengths};
        add("step_paged" + of, shape, StepKind::kPaged);
        add("step_padded_gather" + of, shape, StepKind::kPaddedGather);
      }
    }
  }
  return cases;
}

}  // namespace recto::bench
