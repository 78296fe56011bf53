#pragma once

// Every constant of the roofline model that is not a property of the language model or of the card.
// The constants come from publications, are the same for every card, and are not fitted to any run.

#include <array>

namespace recto::sim {

struct CitedConstant {
  double value;
  const char* source;
};

struct RooflineConstants {
  // Large contiguous reads and writes over peak memory bandwidth.
  CitedConstant streaming_efficiency{
      0.785,
      "mean of 0.885 (zeux/calm README: 892 of 1008 GB/s, Llama-2-7B fp16 on an RTX 4090) and "
      "0.685 (pytorch-labs/gpt-fast README: 1397 of 2039 GB/s, Llama-2-7B bf16 on a power-limited "
      "A100-80)"};
  // Matrix products over peak dense tensor rate.
  CitedConstant matmul_efficiency{
      0.80,
      "stas00/ml-engineering, maximum achievable matmul FLOPS, bf16: A100 0.87, H100 0.80, B200 "
      "0.78; the median"};
  // Attention of prompt chunks over peak dense tensor rate.
  CitedConstant prefill_attention_efficiency{
      0.70,
      "FlashAttention-3 (arXiv 2407.08608): 740 TFLOPS fp16, 0.75 of an H100; FlashAttention-2 "
      "(arXiv 2307.08691): up to 0.73 of an A100; paged kernels 1-10 % below ragged ones"};
  // A block-table entry is one 4-byte load. At worst it costs one memory transaction per KV head,
  // because different thread blocks handle the heads of a sequence.
  CitedConstant table_entry_read_bytes{
      32, "CUDA C++ Best Practices Guide, coalesced access: 32-byte transactions"};
  CitedConstant kernels_per_layer{
      7,
      "Hazy Research, Look Ma, No Bubbles (2025): about 100 kernels for the 16 layers of "
      "Llama-1B in vLLM and SGLang"};
  // Idle time between two kernels of a CUDA graph.
  CitedConstant kernel_launch_ns{
      1300,
      "Hazy Research, Look Ma, No Bubbles (2025): about 1.3 us per kernel on an H100 with "
      "CUDA graphs"};
  // Time for scheduling and input preparation during which the card waits; only for engines whose
  // host does not run ahead of the card.
  CitedConstant exposed_host_ns{
      4'000'000,
      "github.com/vllm-project/vllm/issues/6854: about 4 ms of idle GPU per decode "
      "step before work was overlapped"};
  // One small all-reduce between cards of a node.
  CitedConstant all_reduce_latency_ns{
      6000, "github.com/NVIDIA/nccl/issues/1259: about 6 us for two H100, CUDA graphs, NVLS"};
  // Bus bandwidth of a large all-reduce over one direction of the link.
  CitedConstant link_efficiency{
      0.81, "github.com/NVIDIA/nccl/issues/1455: ring at 365-370 of 450 GB/s on 2 to 8 H100"};
};

struct NamedConstant {
  const char* name;
  CitedConstant constant;
};

// All constants with their names, for reports and checks.
inline std::array<NamedConstant, 9> named_constants(const RooflineConstants& constants) {
  return {{
      {"streaming_efficiency", constants.streaming_efficiency},
      {"matmul_efficiency", constants.matmul_efficiency},
      {"prefill_attention_efficiency", constants.prefill_attention_efficiency},
      {"table_entry_read_bytes", constants.table_entry_read_bytes},
      {"kernels_per_layer", constants.kernels_per_layer},
      {"kernel_launch_ns", constants.kernel_launch_ns},
      {"exposed_host_ns", constants.exposed_host_ns},
      {"all_reduce_latency_ns", constants.all_reduce_latency_ns},
      {"link_efficiency", constants.link_efficiency},
  }};
}

}  // namespace recto::sim
