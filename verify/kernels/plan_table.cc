// Prints how decode is planned on several cards: the thread blocks of each launch, in their order,
// and the keys of each. (cuda/golden/plans.txt is the reviewed output; tools/static_speed predicts
// from it how long a launch takes.)

#include <fmt/format.h>
#include <kernel_dialect.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/attention_views.h"
#include "core/dense_kv_view.h"
#include "core/gpu_table.h"
#include "cuda/attention_plan.h"
#include "cuda/kernel_params.h"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/split_range.cuh"
#include "cuda/kernels/tma_decode.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kHeads = 8;  // of K and V
constexpr std::int64_t kGroup = 4;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kBlockSize = 16;

struct Card {
  const char* name;  // as in core/gpu_table.h, which has no counts of multiprocessors
  std::int64_t num_multiprocessors;
};
constexpr Card kCards[] = {{"A100-80", 108}, {"H100", 132}, {"H200", 132}, {"B200", 148}};

enum class Lengths : std::uint8_t {
  kEqual,
  kSkewed,  // in turn all of the context, 1/2, 1/4, ... in groups of eight, as in cuda/bench
};

struct Call {
  std::int64_t num_seqs;
  std::int64_t context;
  std::int64_t planned;
  Lengths lengths = Lengths::kEqual;
  ElementType kv_type = ElementType::kBf16;
  AttentionKernel kernel = AttentionKernel::kGqaDecode;
};

using Shapes = std::initializer_list<std::pair<std::int64_t, std::int64_t>>;  // sequences, context

std::vector<Call> calls(const std::string& card) {
  std::vector<Call> calls;
  const auto add = [&](std::int64_t num_seqs, std::int64_t context) {
    calls.push_back({num_seqs, context, context});
  };
  for (const std::int64_t num_seqs : {1, 4, 16, 64, 256}) {
    for (std::int64_t context = 4096; context <= 32768; context *= 2) add(num_seqs, context);
  }
  // Further shapes that were measured.
  for (const auto& [num_seqs, context] :
       Shapes{{1, 1024}, {1, 131072}, {8, 1024}, {8, 4096}, {64, 128}, {64, 1024}, {256, 512}}) {
    add(num_seqs, context);
  }
  for (const std::int64_t num_seqs : {1, 4, 16}) {
    for (const std::int64_t context : {4096, 32768}) calls.push_back({num_seqs, context, 131072});
  }
  for (const auto& [num_seqs, context] : Shapes{{16, 32768}, {64, 4096}, {256, 16384}}) {
    calls.push_back({num_seqs, context, context, Lengths::kSkewed});
  }
  for (const auto& [num_seqs, context] : Shapes{{8, 1024}, {8, 4096}, {64, 4096}, {256, 4096}}) {
    Call call = {num_seqs, context, context};
    call.kv_type = ElementType::kE4m3;
    calls.push_back(call);
  }
  if (card != "A100-80") {  // which has no TMA
    Call call = {64, 4096, 4096};
    call.kernel = AttentionKernel::kTmaDecode;
    calls.push_back(call);
  }
  return calls;
}

std::vector<std::int32_t> lengths_of(const Call& call) {
  std::vector<std::int32_t> lengths;
  for (std::int64_t s = 0; s < call.num_seqs; ++s) {
    const std::int64_t halvings = call.lengths == Lengths::kSkewed ? s % 8 : 0;
    lengths.push_back(static_cast<std::int32_t>(call.context >> halvings));
  }
  return lengths;
}

// No plan reads memory, so an address is enough.
template <typename T>
const T* some_address() {
  return reinterpret_cast<const T*>(std::uintptr_t{1} << 40);
}

PagedAttentionInputs inputs_of(const Call& call, const std::vector<std::int32_t>& lengths) {
  const std::int64_t blocks = (call.planned + kBlockSize - 1) / kBlockSize;
  const KvPoolShape pool = {.layout = KvLayout::kHeadMajor,
                            .type = call.kv_type,
                            .num_blocks = call.num_seqs * blocks,
                            .block_size = kBlockSize,
                            .num_kv_heads = kHeads,
                            .head_dim_k = kHeadDim,
                            .head_dim_v = kHeadDim};
  void* memory = const_cast<void*>(some_address<void>());
  PagedAttentionInputs inputs;
  inputs.q =
      dense_rows<const void*>(memory, ElementType::kBf16, call.num_seqs, kHeads * kGroup, kHeadDim);
  inputs.kv = as_const(dense_kv_view(pool, memory, memory).value());
  if (is_fp8(call.kv_type)) {
    inputs.kv.k.scale = inputs.kv.v.scale = {ScaleKind::kPerTensor, some_address<float>()};
  }
  inputs.block_table = {some_address<std::int32_t>(), call.num_seqs, blocks, blocks};
  inputs.context_length = lengths;
  inputs.options.scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim));
  return inputs;
}

// Equal neighbours as "COUNT<between>VALUE".
std::string runs_of(const std::vector<std::string>& values, const char* between,
                    const char* separator) {
  std::string text;
  for (auto first = values.begin(); first != values.end();) {
    const auto end = std::find_if(first, values.end(), [&](const auto& v) { return v != *first; });
    if (!text.empty()) text += separator;
    text += std::to_string(std::distance(first, end)) + between + *first;
    first = end;
  }
  return text;
}

// The keys of the sequences' thread blocks, for each split: "2:64*2048" are two splits of 64
// sequences, with 2048 keys each. A launch has this for each head of K and V.
std::string thread_blocks(const kernels::SplitDecodeParams& params) {
  std::vector<std::string> splits;
  for (std::int64_t split = 0; split < params.num_splits; ++split) {
    std::vector<std::string> keys;
    for (std::int64_t s = 0; s < params.decode.block_table.num_seqs; ++s) {
      const kernels::KeyRange all = kernels::visible_keys(params.decode, s);
      keys.push_back(std::to_string(kernels::keys_of_split(all, params, split).size()));
    }
    splits.push_back(runs_of(keys, "*", ","));
  }
  return runs_of(splits, ":", " ");
}

void print(const Card& card, const Call& call) {
  const std::vector<std::int32_t> lengths = lengths_of(call);
  const PagedAttentionInputs inputs = inputs_of(call, lengths);
  PlanOptions options;
  options.max_context_length = call.planned;
  options.num_multiprocessors = card.num_multiprocessors;
  if (call.kernel != AttentionKernel::kGqaDecode) options.kernel = call.kernel;
  const AttentionPlan plan = plan_attention(inputs, options).value();
  const kernels::SplitDecodeParams params = decode_params(plan, inputs, {});
  const std::int64_t per_sm = plan.kernel == AttentionKernel::kTmaDecode
                                  ? kernels::tma_blocks_per_sm(params)
                                  : kernels::gqa_blocks_per_sm(params);
  fmt::print(
      "{:>7}  {:>3}  {:>4.0f}  {:>10}  {:>5}  {:>5}  {:>7}  {:>7}  {:>7}  {:>6}  {:>6}  {}\n",
      card.name, card.num_multiprocessors,
      find_gpu(card.name).value().memory_bandwidth_bytes_per_s / 1e9,
      attention_kernel_name(plan.kernel), element_type_name(call.kv_type), call.num_seqs,
      call.context, call.planned, call.lengths == Lengths::kSkewed ? "skewed" : "equal", per_sm,
      plan.num_splits, thread_blocks(params));
}

}  // namespace
}  // namespace recto::verify

int main() {
  using namespace recto::verify;
  fmt::print("# decode in bf16, {} heads of K and V, group {}, head dim {}, block size {}\n",
             kHeads, kGroup, kHeadDim, kBlockSize);
  fmt::print("{:>7}  {:>3}  {:>4}  {:>10}  {:>5}  {:>5}  {:>7}  {:>7}  {:>7}  {:>6}  {:>6}  {}\n",
             "card", "SMs", "GB/s", "kernel", "cache", "batch", "context", "planned", "lengths",
             "per SM", "splits", "splits:sequences*keys");
  for (const Card& card : kCards) {
    for (const Call& call : calls(card.name)) print(card, call);
  }
  return 0;
}
