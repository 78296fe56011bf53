#pragma once

// Whether another process computes, waits for the machine, or hangs.

#include <cstdint>

namespace recto::verify {

// What all threads of the process have computed so far; 0 if it is gone.
std::int64_t cpu_time_ms(int process);

// Whether all threads of the process, and of those that it has started, wait for something else
// than the machine: none computes, is ready to compute, or waits for a disk. False if that cannot
// be told.
bool is_waiting(int process);

}  // namespace recto::verify
