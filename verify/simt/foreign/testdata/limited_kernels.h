#pragma once

// out[i] = 1, by up to 64 threads.
void run_set_ones(float* out, int threads);

// From now on run_set_by_shared may have so many bytes; 0, or the error.
int allow_shared(int bytes);
// *out = 2, through the last of so many bytes of dynamic shared memory. What went wrong, in words.
const char* run_set_by_shared(float* out, int bytes);
