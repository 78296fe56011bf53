// The kernel alone, to be compiled to PTX.

#include "row_decode.cuh"
