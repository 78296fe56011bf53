// Benchmarks of decode and prefill through the host API; of a step's layers, launched one by one
// and replayed as a CUDA graph; and of paged attention beside gathering all contexts into a padded
// batch.

#include <benchmark/benchmark.h>
#include <kernel_dialect.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/bench/attention_cases.h"
#include "cuda/bench/device.h"
#include "cuda/bench/measured.h"
#include "cuda/bench/turns.h"
#include "cuda/kernels/gather.h"
#include "cuda/paged_attention.h"

namespace recto::bench {
namespace {

std::optional<AttentionKernel> kernel_of(DecodeChoice decode) {
  if (decode == DecodeChoice::kTma) return AttentionKernel::kTmaDecode;
  if (decode == DecodeChoice::kReference) return AttentionKernel::kReferenceDecode;
  return std::nullopt;
}

// A case's batches, with their plan, outputs and workspace.
struct Attention {
  explicit Attention(const AttentionCase& of, std::int64_t turns_most = kTurnsMax)
      : turns(of.shape, turns_most), plan(plan_of(of)), workspace(workspace_bytes()) {}

  Result<AttentionPlan> plan_of(const AttentionCase& of) const {
    RECTO_RETURN_IF_ERROR(turns.status());
    const Result<Card> here = card();
    if (!here.is_ok()) return here.status();
    return plan_attention(turns.at(0).inputs(),
                          {.max_context_length = of.shape.context_length,
                           .max_query_length = of.shape.rows_per_seq,
                           .num_multiprocessors = here.value().num_multiprocessors,
                           .kernel = kernel_of(of.decode)});
  }
  std::int64_t workspace_bytes() const { return plan.is_ok() ? plan.value().workspace_bytes : 0; }
  Status run(std::int64_t turn, KernelStream stream) const {
    const AttentionBatch& batch = turns.at(turn);
    return run_attention(plan.value(), batch.inputs(), batch.outputs(),
                         {.data = workspace.data(), .bytes = workspace.bytes()}, stream);
  }

  Turns turns;
  Result<AttentionPlan> plan;
  DeviceBytes workspace;
};

bool is_ready(benchmark::State& state, const Attention& attention) {
  if (!attention.plan.is_ok()) {
    give_up(state, attention.plan.status());
  } else if (attention.workspace.data() == nullptr) {
    give_up(state, too_little_memory(attention.workspace_bytes()));
  } else {
    const AttentionPlan& plan = attention.plan.value();
    state.SetLabel(attention_kernel_name(plan.kernel) + std::string(", splits: ") +
                   std::to_string(plan.num_splits));
    return true;
  }
  return false;
}

void attend(benchmark::State& state, const AttentionCase& of) {
  const Attention attention(of);
  if (!is_ready(state, attention)) return;
  add_counters(state, of.shape);
  measure(state, {.work = attention_work(of.shape)},
          [&](std::int64_t turn) { return attention.run(turn, nullptr); });
}

Work work_of_layers(const BatchShape& shape) {
  Work work = attention_work(shape);
  work.bytes *= kLayers;
  work.flops *= kLayers;
  return work;
}

Status launch_layers(const Attention& attention, KernelStream stream) {
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    RECTO_RETURN_IF_ERROR(attention.run(layer, stream));
  }
  return Status::ok();
}

Status status_of(cudaError_t error) {
  return error == cudaSuccess ? Status::ok() : Status::failed(cudaGetErrorString(error));
}

// A captured graph of all layers.
class Graph {
 public:
  explicit Graph(const Attention& attention) : status_(capture(attention)) {}
  ~Graph() {
    if (replayed_ != nullptr) cudaGraphExecDestroy(replayed_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  Status replay() const {
    RECTO_RETURN_IF_ERROR(status_);
    return status_of(cudaGraphLaunch(replayed_, nullptr));
  }

 private:
  Status capture(const Attention& attention) {
    RECTO_RETURN_IF_ERROR(status_of(cudaStreamCreate(&stream_)));
    RECTO_RETURN_IF_ERROR(
        status_of(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal)));
    const Status launched = launch_layers(attention, stream_);
    const Status captured = status_of(cudaStreamEndCapture(stream_, &graph_));
    RECTO_RETURN_IF_ERROR(launched);
    RECTO_RETURN_IF_ERROR(captured);
    return status_of(cudaGraphInstantiate(&replayed_, graph_, 0));
  }

  cudaStream_t stream_ = nullptr;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t replayed_ = nullptr;
  Status status_;
};

enum class How : std::uint8_t { kLaunched, kReplayed };

void attend_in_layers(benchmark::State& state, const BatchShape& shape, How how) {
  // Each layer has its own K and V, as in a model, or reads data last read more than a GiB before,
  // so L2 holds none of it.
  const Attention attention({.name = {}, .shape = shape}, kLayers);
  if (!is_ready(state, attention)) return;
  const std::int64_t batches = turning_batches(shape, kLayers);
  if (attention.turns.count() < batches) {
    give_up(state, too_little_memory(batches * shape.allocated_bytes()));
    return;
  }
  add_counters(state, shape);
  state.counters["layers"] = static_cast<double>(kLayers);
  const Measured what = {.work = work_of_layers(shape)};
  if (how == How::kLaunched) {
    measure(state, what, [&](std::int64_t) { return launch_layers(attention, nullptr); });
  } else {
    const Graph graph(attention);
    measure(state, what, [&](std::int64_t) { return graph.replay(); });
  }
}

// The same batch with all sequences as long as the longest, each in one block.
BatchShape padded(BatchShape shape) {
  shape.lengths = Lengths::kEqual;
  shape.placement = Placement::kContiguous;
  return shape;
}

// Rows over a token-major pool with contiguous blocks.
MutableRowsView rows_of(const MutableKvTensorView& pool) {
  return {.data = pool.data,
          .type = pool.type,
          .num_rows = pool.num_blocks * pool.block_size,
          .num_heads = pool.num_kv_heads,
          .head_dim = pool.head_dim,
          .row_stride = pool.slot_stride,
          .head_stride = pool.head_stride};
}

// Gathers at each step, as older engines did. The time does not depend on which context a query
// meets.
class PaddedGather {
 public:
  explicit PaddedGather(const BatchShape& shape)
      : from_(shape),
        to_({.name = {}, .shape = padded(shape)}),
        starts_(static_cast<std::int64_t>(sizeof(std::int64_t)) * shape.num_seqs),
        status_(fill_starts(shape)) {}

  const Turns& from() const { return from_; }
  const Attention& to() const { return to_; }

  Status run(std::int64_t turn) const {
    RECTO_RETURN_IF_ERROR(status_);
    const AttentionBatch& batch = from_.at(turn);
    const PagedAttentionInputs inputs = batch.inputs();
    const MutablePagedKvView& gathered = to_.turns.at(turn).kv();
    RECTO_RETURN_IF_ERROR(
        kernels::launch_gather({.kv = inputs.kv,
                                .block_table = inputs.block_table,
                                .context_length = inputs.context_length.data(),
                                .context_start = static_cast<const std::int64_t*>(starts_.data()),
                                .max_context_length = batch.shape().context_length,
                                .k = rows_of(gathered.k),
                                .v = rows_of(gathered.v)},
                               nullptr));
    return to_.run(turn, nullptr);
  }

 private:
  Status fill_starts(const BatchShape& shape) const {
    if (starts_.data() == nullptr) return too_little_memory(starts_.bytes());
    std::vector<std::int64_t> starts;
    for (std::int64_t s = 0; s < shape.num_seqs; ++s) starts.push_back(s * shape.context_length);
    return upload(starts_, starts.data(), starts_.bytes());
  }

  Turns from_;
  Attention to_;
  DeviceBytes starts_;
  Status status_;
};

// The counted work is that of paged attention over the same contexts. Gathering and padding are not
// useful work, so they lower the fractions.
void gather_and_attend(benchmark::State& state, const BatchShape& shape) {
  const PaddedGather gather(shape);
  if (!is_ready(state, gather.from()) || !is_ready(state, gather.to())) return;
  add_counters(state, shape);
  measure(state, {.work = attention_work(shape)},
          [&](std::int64_t turn) { return gather.run(turn); });
}

void run_step(benchmark::State& state, const StepCase& step) {
  switch (step.kind) {
    case StepKind::kLaunchedLayers:
      return attend_in_layers(state, step.shape, How::kLaunched);
    case StepKind::kReplayedLayers:
      return attend_in_layers(state, step.shape, How::kReplayed);
    case StepKind::kPaged:
      return attend(state, {.name = {}, .shape = step.shape});
    case StepKind::kPaddedGather:
      return gather_and_attend(state, step.shape);
  }
}

}  // namespace

void register_benchmarks(CaseSet set) {
  for (const AttentionCase& one : attention_cases(set)) {
    register_case(one.name, [one](benchmark::State& state) { attend(state, one); });
  }
  for (const StepCase& step : step_cases()) {
    register_case(step.name, [step](benchmark::State& state) { run_step(state, step); });
  }
}

}  // namespace recto::bench
