// Compiled with -mavx512f and its kin where the compiler knows them; runs only where the machine
// has them.

#include "verify/ptx/lanes/lane_tables.h"

#ifdef __AVX512F__
#include "verify/ptx/lanes/all_lanes.h"
#endif

namespace recto::ptx {

LaneTables avx512_lane_tables() {
#ifdef __AVX512F__
  return own_lane_tables();
#else
  return {};
#endif
}

}  // namespace recto::ptx
