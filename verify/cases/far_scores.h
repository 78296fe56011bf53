#pragma once

// Cases whose scores reach as far from 0 as scores get, or far above each other.

#include "verify/cases/case_spec.h"

namespace recto::verify {

// Sets the scale at which the score bound equals the limit, if offsets leave room for scores.
void reach_score(double limit, CaseSpec& spec);

// Moves all scores of a row far from 0, to one side of it, with `farthest` as their limit; sinks,
// if there are some, become as low as scores get. A running maximum that does not begin at minus
// infinity shows only where all scores lie far below it.
void move_scores_far(double farthest, CaseSpec& spec);

// Makes one key of each KV head, at either end, outdo all others by about 10, beside which these
// still have weight in sum, or by more than 88, beyond which exp overflows in fp32: what merges
// results of splits errs only where their maxima differ so.
void peak_ends(CaseSpec& spec);

}  // namespace recto::verify
