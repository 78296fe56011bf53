#include "verify/simt/checks/testdata/dead_read.cuh"

namespace recto::simt {

RECTO_SIMT_READ_DEAD(read_dead_unoptimised)

}  // namespace recto::simt
