#pragma once

// Whether kernels reach what a program allocates.

namespace recto::verify {

// To be called before anything is made that kernels are handed: what is allocated from then on they
// reach. On the executor they always do. On a GPU, the process may not be forked from then on: who
// never calls it leaves CUDA alone.
void let_kernels_reach_heap();

}  // namespace recto::verify
