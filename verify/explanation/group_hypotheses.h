#pragma once

// Faults in how the query heads of a group, which share a KV head, are counted and laid out on
// tiles.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// Tries tiles that have fewer heads than a group: the others attend to another KV head, or get
// nothing.
void add_head_limits(HypothesisTrial& trial);

// Tries KV heads, of K, V or both, that are found by a group of the next power of two.
void add_padded_groups(HypothesisTrial& trial);

// Tries tiles of rows times heads whose keys end with those of a row before the tile's last one.
void add_tile_ends(HypothesisTrial& trial);

}  // namespace recto::verify
