#pragma once

// Asynchronous copies of the running thread, for kernels of tests.

namespace recto::simt {

void begin_copy(void* destination, const void* source, int bytes);
// All that this thread has begun.
void finish_copies();
// Those of all threads that a launch has left behind.
void forget_copies();

}  // namespace recto::simt
