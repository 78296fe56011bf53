// Prints the tables of docs/kernels.md: instantiations; the required traffic and work of each
// kernel, its actual traffic, and the minimum time on each kind of card.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "core/gpu_table.h"
#include "cuda/instantiations.h"
#include "verify/kernels/kernel_traffic.h"

namespace recto::verify {
namespace {

// A typical server load: 64 sequences of 8192 tokens of a model with 32 query heads and eight KV
// heads.
TrafficShape large_shape(TrafficKernel kernel) {
  TrafficShape shape = {
      .num_seqs = 64, .context_length = 8192, .num_q_heads = 32, .num_kv_heads = 8};
  if (kernel == TrafficKernel::kPagedPrefill) {
    shape.num_seqs = 4;
    shape.rows_per_seq = 2048;
  }
  return shape;
}

TrafficShape small_shape(TrafficKernel kernel) {
  TrafficShape shape;
  if (kernel == TrafficKernel::kPagedPrefill) shape.rows_per_seq = 64;
  if (kernel == TrafficKernel::kKvAppend) shape = {.num_seqs = 64, .context_length = 64};
  return shape;
}

// The larger of memory time and tensor core time, in microseconds.
double floor_us(const Work& work, const char* card) {
  const GpuSpec gpu = find_gpu(card).value();
  return 1e6 * std::max(work.bytes / gpu.memory_bandwidth_bytes_per_s,
                        work.flops / gpu.dense_16bit_flops_per_s);
}

void print_floors() {
  std::puts(
      "| kernel | must move, MB | must compute, GFLOP | FLOP per byte | floor on an H200, us | "
      "floor on an A100-80, us |\n|---|---|---|---|---|---|");
  for (const TrafficKernel kernel : traffic_kernels()) {
    const Work work = work_of(kernel, large_shape(kernel));
    fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", traffic_kernel_name(kernel),
               work.bytes / 1e6, work.flops / 1e9, work.flops / work.bytes, floor_us(work, "H200"),
               floor_us(work, "A100-80"));
  }
}

void print_traffic() {
  std::puts(
      "\n| kernel | layout | must move, kB | moves, kB | ratio | requested by no lane, kB | "
      "bank conflicts |\n|---|---|---|---|---|---|---|");
  for (const TrafficKernel kernel : traffic_kernels()) {
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
      if (kernel == TrafficKernel::kTmaDecode && layout != KvLayout::kHeadMajor) continue;
      TrafficShape shape = small_shape(kernel);
      shape.layout = layout;
      const double must = work_of(kernel, shape).bytes;
      const Traffic traffic = counted_traffic(kernel, shape);
      const auto moved = static_cast<double>(traffic.sector_bytes);
      fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.3f} | {:.1f} | {} |\n",
                 traffic_kernel_name(kernel), kv_layout_name(layout), must / 1e3, moved / 1e3,
                 moved / must, static_cast<double>(traffic.wasted_bytes) / 1e3,
                 traffic.bank_conflicts);
    }
  }
}

// The ratios for some types, per head dim.
void print_ratios() {
  constexpr std::int64_t kHeadDims[] = {64, 80, 96, 128, 192, 256};
  using enum ElementType;
  constexpr std::pair<ElementType, ElementType> kTypes[] = {
      {kBf16, kBf16}, {kBf16, kE4m3}, {kFp32, kFp32}};
  std::puts(
      "\n| gqa_decode | layout | 64 | 80 | 96 | 128 | 192 | 256 | bank conflicts |\n"
      "|---|---|---|---|---|---|---|---|---|");
  for (const auto& [q_type, kv_type] : kTypes) {
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
      fmt::print("| {}/{} | {} ", element_type_name(q_type), element_type_name(kv_type),
                 kv_layout_name(layout));
      std::uint64_t conflicts = 0;
      for (const std::int64_t head_dim : kHeadDims) {
        const TrafficShape shape = {.context_length = 256,
                                    .head_dim = head_dim,
                                    .q_type = q_type,
                                    .kv_type = kv_type,
                                    .layout = layout};
        const Traffic traffic = counted_traffic(TrafficKernel::kGqaDecode, shape);
        fmt::print("| {:.3f} ", static_cast<double>(traffic.sector_bytes) /
                                    work_of(TrafficKernel::kGqaDecode, shape).bytes);
        conflicts += traffic.bank_conflicts;
      }
      fmt::print("| {} |\n", conflicts);
    }
  }
}

}  // namespace
}  // namespace recto::verify

int main() {
  fmt::print("{}\n", recto::instantiation_table());
  recto::verify::print_floors();
  recto::verify::print_traffic();
  recto::verify::print_ratios();
  return 0;
}
