// Compiled with -mavx2 -mfma -mf16c where the compiler knows them; runs only where the machine has
// them.

#include "verify/ptx/lanes/lane_tables.h"

#ifdef __AVX2__
#include "verify/ptx/lanes/all_lanes.h"
#endif

namespace recto::ptx {

LaneTables avx2_lane_tables() {
#ifdef __AVX2__
  return own_lane_tables();
#else
  return {};
#endif
}

}  // namespace recto::ptx
