// Fault: copies belong to no group, so that waiting for groups waits for none of them.
#include "verify/kernels/testdata/faulty_scores.h"

#define kernels uncommitted_copies
#define commit_copies()
#include "cuda/kernels/group_scores.cu"
