// Fault: the quarters of a are taken in the wrong order: dims first, then rows.
#include "verify/kernels/testdata/faulty_scores.h"

namespace recto::exchanged_registers {
template <typename T>
void multiply_exchanged(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const unsigned exchanged[4] = {a[0], a[2], a[1], a[3]};
  multiply_accumulate_m16n8k16<T>(sum, exchanged, b);
}
}  // namespace recto::exchanged_registers

#define kernels exchanged_registers
#define multiply_accumulate_m16n8k16 multiply_exchanged
#include "cuda/kernels/group_scores.cu"
