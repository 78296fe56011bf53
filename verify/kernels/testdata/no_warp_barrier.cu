// Fault: lanes do not wait for keys that other lanes copy, or for other lanes' reads.
#include "verify/kernels/testdata/faulty_scores.h"

#define kernels no_warp_barrier
#define __syncwarp()
#include "cuda/kernels/group_scores.cu"
