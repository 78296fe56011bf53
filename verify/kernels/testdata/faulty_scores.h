#pragma once

// The kernel group_scores with one fault each, for verify/kernels/group_scores_checks_test.cc. A
// fault is a macro that replaces one function of the dialect; each file then includes the kernel's
// source in its own namespace. The other includes of that source are repeated here, unchanged.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstddef>
#include <cstdint>

#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/group_scores.h"
#include "cuda/kernels/reference_decode.h"
#include "cuda/kernels/warp.cuh"

#define FAULTY_SCORES(name)                                                         \
  namespace recto::name {                                                           \
  using namespace recto::kernels;                                                   \
  Status launch_group_scores(const GroupScoresParams& params, KernelStream stream); \
  }
FAULTY_SCORES(exchanged_registers)
FAULTY_SCORES(no_block_barrier)
FAULTY_SCORES(no_warp_barrier)
FAULTY_SCORES(transposed_fragments)
FAULTY_SCORES(uncommitted_copies)
FAULTY_SCORES(unwaited_copies)
FAULTY_SCORES(unwaited_group)
#undef FAULTY_SCORES

// Otherwise argument-dependent lookup would also find the kernel's own.
// NOLINTNEXTLINE(readability-identifier-naming): the name of a function that it stands for
#define check_served check_served_by_faulty_scores
