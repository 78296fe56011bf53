// Compiled with -mavx2 -mfma -mf16c where the compiler knows them; runs only where the machine has
// them. All code of the included files is local or always inlined.

#include "verify/ptx/lanes/lane_tables.h"

#ifdef __AVX2__
#include "verify/ptx/lanes/address_lanes.h"
#include "verify/ptx/lanes/approximation_forms.h"
#include "verify/ptx/lanes/conversion_forms.h"
#include "verify/ptx/lanes/float_forms.h"
#include "verify/ptx/lanes/integer_forms.h"
#endif

namespace recto::ptx {

LaneTables avx2_lane_tables() {
#ifdef __AVX2__
  return {kIntegerForms,     kFloatForms, kConversionForms, kApproximationForms,
          resolve_addresses, extent_of,   load_all_lanes,   load};
#else
  return {};
#endif
}

}  // namespace recto::ptx
