// Decode moves hardly more than the required bytes, and its warps have no bank conflicts; nor have
// those of prefill. For all instantiations.

#include "verify/kernels/kernel_traffic.h"

#include <kernel_dialect.h>

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/paged_prefill.h"
#include "cuda/kernels/tma_decode.h"

namespace recto::verify {
namespace {

double ratio_of(TrafficKernel kernel, const TrafficShape& shape) {
  return static_cast<double>(counted_traffic(kernel, shape).sector_bytes) /
         work_of(kernel, shape).bytes;
}

TEST_CASE("the bytes and operations of a decode step are those counted by hand") {
  // 2 sequences x 100 tokens x 1 KV head x (64 + 64) x 2 bytes, 2 x 7 block ids, 2 lengths, and q,
  // out and lse for 2 x 4 heads.
  const TrafficShape shape = {
      .context_length = 100, .num_q_heads = 4, .num_kv_heads = 1, .head_dim = 64};
  const Work work = work_of(TrafficKernel::kGqaDecode, shape);
  CHECK(work.bytes == 51200 + 56 + 8 + 8 * (128 + 128 + 4));
  CHECK(work.flops == 2 * 4 * 100 * 64 * 4);
}

// For each instantiation, on every layout: how often decode moves each required byte, and the lines
// with bank conflicts.
struct Measured {
  double ratio = 0;
  std::uint64_t bank_conflicts = 0;
  std::string conflicting_lines;
};

Measured measured(TrafficKernel kernel, const TrafficShape& shape) {
  const Traffic traffic = counted_traffic(kernel, shape);
  return {static_cast<double>(traffic.sector_bytes) / work_of(kernel, shape).bytes,
          traffic.bank_conflicts, traffic.conflicting_lines};
}

// Rows of 80 bytes take two and a half sectors, and adjacent heads share one; a thread block
// handles one head, and requests three sectors.
double ratio_max(const TrafficShape& shape) {
  const bool has_half_sectors = is_fp8(shape.kv_type) && shape.head_dim % 32 != 0;
  return has_half_sectors && shape.layout == KvLayout::kTokenMajor ? 3 / 2.5 * 1.02 : 1.05;
}

template <typename Params>
std::vector<TrafficShape> shapes_of(const kernels::KernelTable<Params>& table,
                                    const TrafficShape& like) {
  std::vector<TrafficShape> shapes;
  for (const kernels::KernelEntry<Params>& entry : table) {
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
      TrafficShape shape = like;
      shape.head_dim = entry.head_dim;
      shape.q_type = entry.q_type;
      shape.kv_type = entry.kv_type;
      shape.layout = layout;
      // Partly used sectors at the ends of tables and rows matter less in longer contexts.
      if (is_fp8(shape.kv_type) && shape.head_dim < 128) shape.context_length *= 4;
      shapes.push_back(shape);
    }
  }
  return shapes;
}

// Each entry of a table in one of the three layouts, in turn; with RECTO_FULL=1 in all three.
std::vector<TrafficShape> tried_of(const std::vector<TrafficShape>& shapes) {
  if (is_full_run()) return shapes;
  std::vector<TrafficShape> tried;
  for (std::size_t i = 0; i < shapes.size(); i += 3) tried.push_back(shapes[i + i / 3 % 3]);
  return tried;
}

std::string text_of(const TrafficShape& shape) {
  return fmt::format("{}/{}, head dim {}, {}, block size {}, group {}",
                     element_type_name(shape.q_type), element_type_name(shape.kv_type),
                     shape.head_dim, kv_layout_name(shape.layout), shape.block_size,
                     shape.num_q_heads / shape.num_kv_heads);
}

TEST_CASE("GQA decode moves at most 1.05 times what it must, without bank conflicts") {
  const std::vector<TrafficShape> shapes =
      shapes_of(kernels::gqa_decode_table(), {.context_length = 128});
  CHECK(shapes.size() == std::size_t{7 * 6 * 3});
  for (const TrafficShape& shape : tried_of(shapes)) {
    const Measured seen = measured(TrafficKernel::kGqaDecode, shape);
    INFO(text_of(shape) << seen.conflicting_lines);
    CHECK(seen.ratio >= 1.0);
    CHECK(seen.ratio <= ratio_max(shape));
    CHECK(seen.bank_conflicts == 0);
  }
}

TEST_CASE("TMA decode moves at most 1.05 times what it must, without bank conflicts") {
  const std::vector<TrafficShape> shapes =
      shapes_of(kernels::tma_decode_table(), {.context_length = 256});
  CHECK_FALSE(shapes.empty());
  for (const TrafficShape& shape : shapes) {
    if (shape.layout != KvLayout::kHeadMajor) continue;
    const Measured seen = measured(TrafficKernel::kTmaDecode, shape);
    INFO(text_of(shape) << seen.conflicting_lines);
    CHECK(seen.ratio <= 1.05);
    CHECK(seen.bank_conflicts == 0);
  }
}

TEST_CASE("splits and their merge move at most 1.05 times what they must") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    for (const ElementType kv_type : {ElementType::kBf16, ElementType::kE4m3}) {
      const TrafficShape shape = {.context_length = 2048, .kv_type = kv_type, .layout = layout};
      const Measured seen = measured(TrafficKernel::kGqaDecodeSplit, shape);
      INFO(text_of(shape) << seen.conflicting_lines);
      CHECK(seen.ratio <= 1.05);
      CHECK(seen.bank_conflicts == 0);
    }
  }
}

TEST_CASE("blocks as large as contexts, or as small as a token, add little traffic to decode") {
  for (const std::int64_t block_size : {1, 1024}) {
    const TrafficShape shape = {.block_size = block_size, .layout = KvLayout::kTokenMajor};
    CHECK(ratio_of(TrafficKernel::kGqaDecode, shape) <= 1.05);
  }
}

// A thread block has registers for the sums of sixteen rows.
TEST_CASE("GQA decode reads K and V once for each sixteen heads of a group") {
  for (const std::int64_t group : {16, 17, 32, 33}) {
    const auto tiles = static_cast<double>((group + 15) / 16);
    const double ratio =
        ratio_of(TrafficKernel::kGqaDecode, {.context_length = 512, .num_q_heads = 2 * group});
    INFO("group " << group);
    CHECK(ratio > 0.95 * tiles);
    CHECK(ratio < 1.05 * tiles);
  }
}

// There, the values of a chunk lie in several blocks whose sectors also hold other dims.
TEST_CASE("packed blocks of two and four slots cost more traffic, and other sizes do not") {
  const auto ratio = [](std::int64_t block_size) {
    return ratio_of(TrafficKernel::kGqaDecode,
                    {.context_length = 512, .block_size = block_size, .layout = KvLayout::kPacked});
  };
  for (const std::int64_t block_size : {1, 8, 16, 32, 512}) CHECK(ratio(block_size) <= 1.05);
  CHECK(ratio(2) <= 1.55);
  CHECK(ratio(4) <= 2.55);
  // In fp8, a tile's sixteen keys are half a sector.
  const TrafficShape fp8 = {.context_length = 512,
                            .block_size = 32,
                            .kv_type = ElementType::kE4m3,
                            .layout = KvLayout::kPacked};
  CHECK(ratio_of(TrafficKernel::kGqaDecode, fp8) <= 1.55);
}

TEST_CASE("GQA decode has no bank conflicts at any block size and group") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    for (const std::int64_t block_size : {1, 2, 4, 8, 32, 512}) {
      for (const std::int64_t group : {1, 8, 17}) {
        const TrafficShape shape = {.context_length = 128,
                                    .num_q_heads = 2 * group,
                                    .block_size = block_size,
                                    .layout = layout};
        const Measured seen = measured(TrafficKernel::kGqaDecode, shape);
        INFO(text_of(shape) << seen.conflicting_lines);
        CHECK(seen.bank_conflicts == 0);
      }
    }
  }
}

TEST_CASE("prefill has no bank conflicts") {
  const std::vector<TrafficShape> shapes =
      shapes_of(kernels::paged_prefill_table(), {.context_length = 128, .rows_per_seq = 16});
  for (const TrafficShape& shape : tried_of(shapes)) {
    const Measured seen = measured(TrafficKernel::kPagedPrefill, shape);
    INFO(text_of(shape) << seen.conflicting_lines);
    CHECK(seen.bank_conflicts == 0);
  }
}

TEST_CASE("reference decode reads keys and values for each query head of a group") {
  const TrafficShape shape;
  CHECK(ratio_of(TrafficKernel::kReferenceDecode, shape) > 3.9);
  CHECK(ratio_of(TrafficKernel::kReferenceDecode, shape) < 4.2);
}

// Except for slots and block ids, which each warp requests.
TEST_CASE("kernels that move K and V move at most 1.08 times what they must") {
  for (const TrafficKernel kernel : {TrafficKernel::kKvWrite, TrafficKernel::kBlockCopy,
                                     TrafficKernel::kBlockSwap, TrafficKernel::kGather}) {
    INFO(traffic_kernel_name(kernel));
    CHECK(ratio_of(kernel, {}) >= 1.0);
    CHECK(ratio_of(kernel, {}) <= 1.08);
  }
}

}  // namespace
}  // namespace recto::verify
