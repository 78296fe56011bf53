#pragma once

// Whether another process computes, waits for the machine, or hangs.

#include <cstdint>

namespace recto::verify {

// CPU time used by all threads of the process so far; 0 if it is gone.
std::int64_t cpu_time_ms(int process);

// Whether all threads of the process and of its children wait for something other than the machine:
// none computes, is ready to compute, or waits for a disk. False if unknown.
bool is_waiting(int process);

}  // namespace recto::verify
