#pragma once

// Functions of the executor that test kernels call for the running thread: asynchronous copies, and
// objects that threads release and acquire.

namespace recto::simt {

void begin_copy(void* destination, const void* source, int bytes);
// Finishes all copies that this thread has begun.
void finish_copies();
// Drops the copies of all threads that a launch has left behind.
void forget_copies();

// Releases the object as the only arrival of its phase.
void release(const void* object);
void acquire(const void* object);

}  // namespace recto::simt
