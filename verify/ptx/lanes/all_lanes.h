#pragma once

// All lane forms and functions for addresses, as one instruction set has them. All code of the
// included files is local or always inlined, so each file that includes this one has its own.

#include "verify/ptx/lanes/address_lanes.h"
#include "verify/ptx/lanes/approximation_forms.h"
#include "verify/ptx/lanes/conversion_forms.h"
#include "verify/ptx/lanes/float_forms.h"
#include "verify/ptx/lanes/integer_forms.h"
#include "verify/ptx/lanes/lane_tables.h"

namespace recto::ptx {
namespace {

LaneTables own_lane_tables() {
  return {kIntegerForms,     kFloatForms, kConversionForms, kApproximationForms,
          resolve_addresses, extent_of,   load_all_lanes,   load};
}

}  // namespace
}  // namespace recto::ptx
