#pragma once

// What kernels of tests ask of the executor on behalf of the running thread: asynchronous copies,
// and objects that hand on what is known.

namespace recto::simt {

void begin_copy(void* destination, const void* source, int bytes);
// All that this thread has begun.
void finish_copies();
// Those of all threads that a launch has left behind.
void forget_copies();

// The only arrival of a phase.
void release(const void* object);
void acquire(const void* object);

}  // namespace recto::simt
