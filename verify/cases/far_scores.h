#pragma once

// Cases whose scores lie near the limits of the domain, or far above each other.

#include "verify/cases/case_spec.h"

namespace recto::verify {

// Sets the scale at which the score bound equals the limit, if biases leave room for scores.
void reach_score(double limit, CaseSpec& spec);

// Moves all scores of a row far from 0, to one side, with `farthest` as their limit; sinks, if any,
// become as low as scores get. A running maximum that is not initialised to minus infinity shows
// only where all scores lie far below its initial value.
void move_scores_far(double farthest, CaseSpec& spec);

// Makes one key of each KV head, at either end, exceed all others by about 10, so that the others
// together still have weight, or by more than 88, where exp overflows in fp32. A faulty merge of
// split results errs only where the splits' maxima differ this much.
void peak_ends(CaseSpec& spec);

}  // namespace recto::verify
