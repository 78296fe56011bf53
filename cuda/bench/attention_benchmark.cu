// Decode and prefill by the host API. Of each table one thing differs from its first row.

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "cuda/bench/attention_batch.h"
#include "cuda/bench/measured.h"
#include "cuda/paged_attention.h"

namespace recto::bench {
namespace {

using Change = std::function<void(BatchShape& shape)>;

struct Variation {
  std::string name;
  Change change;
};

std::vector<Variation> variations() {
  std::vector<Variation> all = {{"base", [](BatchShape&) {}}};
  for (const std::int64_t batch : {1, 8, 256}) {
    all.push_back({"batch:" + std::to_string(batch), [=](BatchShape& s) { s.num_seqs = batch; }});
  }
  for (const std::int64_t context : {128, 1024, 16384}) {
    all.push_back(
        {"context:" + std::to_string(context), [=](BatchShape& s) { s.context_length = context; }});
  }
  for (const std::int64_t group : {1, 8, 16, 32}) {
    all.push_back({"group:" + std::to_string(group), [=](BatchShape& s) { s.group = group; }});
  }
  for (const std::int64_t dim : {64, 96, 192, 256}) {
    all.push_back({"head_dim:" + std::to_string(dim), [=](BatchShape& s) { s.head_dim = dim; }});
  }
  // As large as the context: what paging costs.
  for (const std::int64_t block : {1, 8, 32, 256, 4096}) {
    all.push_back(
        {"block_size:" + std::to_string(block), [=](BatchShape& s) { s.block_size = block; }});
  }
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kPacked}) {
    all.push_back({kv_layout_name(layout), [=](BatchShape& s) { s.layout = layout; }});
  }
  const auto typed = [&all](ElementType q, ElementType kv) {
    all.push_back(
        {std::string(element_type_name(q)) + "/" + element_type_name(kv), [=](BatchShape& s) {
           s.q_type = q;
           s.kv_type = kv;
         }});
  };
  typed(ElementType::kFp16, ElementType::kFp16);
  typed(ElementType::kBf16, ElementType::kE4m3);
  typed(ElementType::kBf16, ElementType::kE5m2);
  typed(ElementType::kFp16, ElementType::kE4m3);
  typed(ElementType::kFp32, ElementType::kFp32);
  return all;
}

void attend(benchmark::State& state, const BatchShape& shape, const PlanOptions& asked) {
  if (!has_gpu(state)) return;
  const AttentionBatch batch(shape);
  PlanOptions options = asked;
  options.max_context_length = shape.context_length;
  options.max_query_length = shape.rows_per_seq;
  const Result<Card> here = card();
  if (here.is_ok()) options.num_multiprocessors = here.value().num_multiprocessors;
  Status status = batch.status();
  const Result<AttentionPlan> plan =
      status.is_ok() ? plan_attention(batch.inputs(), options) : Result<AttentionPlan>(status);
  if (!plan.is_ok()) {
    state.SkipWithError(("SKIPPED: " + plan.status().message()).c_str());
    return;
  }
  const DeviceBytes memory(plan.value().workspace_bytes);
  const Workspace workspace = {.data = memory.data(), .bytes = memory.bytes()};
  state.SetLabel(attention_kernel_name(plan.value().kernel) + std::string(", splits: ") +
                 std::to_string(plan.value().num_splits));
  measure(state, {.bytes = shape.must_move_bytes(), .flops = shape.flops()}, [&] {
    return run_attention(plan.value(), batch.inputs(), batch.outputs(), workspace, nullptr);
  });
}

PlanOptions with_kernel(AttentionKernel kernel) {
  PlanOptions options;
  options.kernel = kernel;
  return options;
}

void add(const std::string& name, const BatchShape& shape, const PlanOptions& options) {
  benchmark::RegisterBenchmark(
      name.c_str(), [shape, options](benchmark::State& state) { attend(state, shape, options); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

bool add_all() {
  for (const Variation& variation : variations()) {
    BatchShape decode = {.num_seqs = 64, .context_length = 4096};
    variation.change(decode);
    add("decode/" + variation.name, decode, {});
    add("decode_bulk/" + variation.name, decode, with_kernel(AttentionKernel::kBulkDecode));
    add("decode_plain/" + variation.name, decode, with_kernel(AttentionKernel::kPlainDecode));
    BatchShape prefill = {.num_seqs = 4, .context_length = 4096, .rows_per_seq = 1024};
    variation.change(prefill);
    if (prefill.context_length < prefill.rows_per_seq) {
      prefill.rows_per_seq = prefill.context_length;
    }
    add("prefill/" + variation.name, prefill, {});
  }
  return true;
}

const bool kIsAdded = add_all();

}  // namespace
}  // namespace recto::bench
