#pragma once

// Lets kernels access memory that a program allocates.

namespace recto::verify {

// Must be called before creating anything that is passed to kernels: they can access whatever is
// allocated from then on. On the executor they always can. On a GPU, the process must not fork from
// then on; a process that never calls it does not touch CUDA.
void let_kernels_reach_heap();

}  // namespace recto::verify
