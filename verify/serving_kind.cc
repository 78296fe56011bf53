#include "verify/serving_kind.h"

#include <vector>

namespace recto::verify {
namespace {

// Lengths on both sides of these are drawn more often: kernels split or switch methods there.
const std::vector<std::int64_t> kThresholds = {64, 256, 512, 1024};

}  // namespace

ServingKind kind_named(const char* name, std::int64_t context_max) {
  ServingKind kind{.cases = {.name = name, .count = 1}};
  CaseDomain& domain = kind.cases.domain;
  domain.head_dims = {64, 128};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  // Sizes beyond 256 more often: a fault there shows only in contexts that cross so many tokens.
  domain.block_sizes = {16, 32, 64, 128, 256, 272, 512, 512};
  domain.tile_sizes = kThresholds;
  domain.lengths = Lengths::kSkewed;
  // Equal numbers hide which of them was read, and one of these cases costs as much as many small
  // ones.
  std::erase(domain.families, FloatFamily::kOnes);
  domain.rows = {RowsKind::kDecode};
  domain.num_seqs_max = 2;
  domain.num_kv_heads_max = 2;
  domain.num_rows_max = 3;
  domain.context_max = context_max;
  return kind;
}

ServingKind chunks_named(const char* name, std::int64_t context_max, std::int64_t rows_min,
                         std::int64_t rows_max) {
  ServingKind kind = kind_named(name, context_max);
  kind.rows = ServedRows::kChunks;
  kind.cases.domain.rows = {RowsKind::kChunk};
  kind.cases.domain.first_rows_min = rows_min;
  kind.cases.domain.num_rows_max = rows_max;
  return kind;
}

}  // namespace recto::verify
