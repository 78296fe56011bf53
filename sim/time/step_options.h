#pragma once

// Two engine features on top of any time model: padding the decode batch to the sizes of captured
// CUDA graphs, and running prefill on a second stream concurrently with decode.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/status.h"
#include "sim/time/time_model.h"

namespace recto::sim {

struct StepOptions {
  // Batch sizes with a captured graph, ascending. In the linear part, a decode batch costs as much
  // as the next larger size; its attention reads no more KV. Batches beyond the largest size run
  // unpadded, as do all if there are no sizes.
  std::vector<std::int64_t> graph_batch_sizes;

  // Slowdown of both streams while both are busy, 1 (none) to 2 (nothing gained). Without a value,
  // prefill and decode share one batch on one stream. There is no default: published slowdowns
  // depend on kernels and shapes.
  std::optional<double> stream_interference;
};

// What vLLM captures by default: 1, 2, 4, then multiples of 8 up to 512
// (github.com/vllm-project/vllm/pull/18698).
std::vector<std::int64_t> vllm_graph_batch_sizes();

// 1, 2, 4, ... 512.
std::vector<std::int64_t> power_of_two_graph_batch_sizes();

// The smallest of `sizes` that is at least `batch`; `batch` itself if there is none or it is 0.
// O(log sizes).
std::int64_t padded_batch(const std::vector<std::int64_t>& sizes, std::int64_t batch);

// Wraps `model`. Invalid input if sizes do not ascend from 1 or more, or the interference is out of
// range. Overlap: let s and l be the shorter and longer side (linear + attention of prefill or
// decode, each as a batch of its own) and f the interference. Both sides run at 1/f of their speed
// until the shorter ends after f s; then the longer continues alone. Together they take l + (f - 1)
// s instead of s + l; the difference is reported as StepCost::overlap. Fixed and copy costs are
// paid once, and do not overlap.
Result<std::unique_ptr<TimeModel>> with_step_options(std::unique_ptr<TimeModel> model,
                                                     StepOptions options);

}  // namespace recto::sim
