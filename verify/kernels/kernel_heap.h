#pragma once

// Lets kernels access memory that a program allocates.

namespace recto::verify {

// Must be called before creating anything that is passed to kernels: they can access memory
// allocated after the call. On the executor they always can. On a GPU, the process must not fork
// afterwards; a process that never calls it does not touch CUDA.
void let_kernels_reach_heap();

}  // namespace recto::verify
