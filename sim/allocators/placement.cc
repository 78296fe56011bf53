#include "sim/allocators/placement.h"

#include "core/contract.h"
#include "sim/allocators/buddy_placement.h"
#include "sim/allocators/hole_list_placement.h"

namespace recto::sim {

std::unique_ptr<Placement> make_placement(PlacementKind kind, TokenCount pool_slots) {
  switch (kind) {
    case PlacementKind::kBuddy:
      return std::make_unique<BuddyPlacement>(pool_slots.value());
    case PlacementKind::kFirstFit:
      return std::make_unique<FirstFitPlacement>(pool_slots.value());
    case PlacementKind::kBestFit:
      return std::make_unique<BestFitPlacement>(pool_slots.value());
  }
  RECTO_UNREACHABLE("every placement is named above");
}

const char* placement_name(PlacementKind kind) {
  switch (kind) {
    case PlacementKind::kBuddy:
      return "buddy";
    case PlacementKind::kFirstFit:
      return "first-fit";
    case PlacementKind::kBestFit:
      return "best-fit";
  }
  RECTO_UNREACHABLE("every placement is named above");
}

}  // namespace recto::sim
