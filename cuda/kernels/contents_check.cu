#include "cuda/kernels/contents_check.cuh"

#include <kernel_dialect.h>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {

namespace {

KernelLaunch one_block(KernelStream stream) {
  return {.grid = dim3(1), .block = dim3(kContentsThreads), .stream = stream};
}

}  // namespace

Status launch_contents_check(const ContentsCheckParams& params, KernelStream stream) {
  return launch_served("contents_check", one_block(stream), &contents_check, params);
}

Status launch_slot_check(const SlotCheckParams& params, KernelStream stream) {
  return launch_served("slot_check", one_block(stream), &slot_check, params);
}

Status launch_pair_check(const PairCheckParams& params, KernelStream stream) {
  return launch_served("pair_check", one_block(stream), &pair_check, params);
}

Status launch_scale_check(const ScaleCheckParams& params, KernelStream stream) {
  return launch_served("scale_check", one_block(stream), &scale_check, params);
}

Status launch_row_check(const RowCheckParams& params, KernelStream stream) {
  return launch_served("row_check", one_block(stream), &row_check, params);
}

}  // namespace recto::kernels
