// Fault: threads do not wait for queries that other threads copy.
#include "verify/kernels/testdata/faulty_scores.h"

#define kernels no_block_barrier
#define __syncthreads()
#include "cuda/kernels/group_scores.cu"
