// Fault: waits for one group too few; the tile multiplied next may still be in flight.
#include "verify/kernels/testdata/faulty_scores.h"

namespace recto::unwaited_group {
template <int kGroupsLeft>
void wait_for_fewer() {
  wait_for_copies<kGroupsLeft + 1>();
}
}  // namespace recto::unwaited_group

#define kernels unwaited_group
#define wait_for_copies wait_for_fewer
#include "cuda/kernels/group_scores.cu"
