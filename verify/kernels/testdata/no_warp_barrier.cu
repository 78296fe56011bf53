// No lane waits for the keys that others copy, or for their reading them.
#include "verify/kernels/testdata/faulty_scores.h"

#define kernels no_warp_barrier
#define __syncwarp()
#include "cuda/kernels/group_scores.cu"
