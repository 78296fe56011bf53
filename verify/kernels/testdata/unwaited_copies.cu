// Fault: no wait for copies.
#include "verify/kernels/testdata/faulty_scores.h"

namespace recto::unwaited_copies {
template <int kGroupsLeft>
void go_on() {}
}  // namespace recto::unwaited_copies

#define kernels unwaited_copies
#define wait_for_copies go_on
#include "cuda/kernels/group_scores.cu"
