// Fault: queries and keys are loaded as if their rows were columns.
#include "verify/kernels/testdata/faulty_scores.h"

#define kernels transposed_fragments
#define load_matrix_x4 load_matrix_transposed_x4
#include "cuda/kernels/group_scores.cu"
