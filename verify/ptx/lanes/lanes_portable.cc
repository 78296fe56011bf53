#include "verify/ptx/lanes/all_lanes.h"

namespace recto::ptx {

LaneTables portable_lane_tables() { return own_lane_tables(); }

}  // namespace recto::ptx
