#include "verify/simt/canaries/testdata/build_macros.h"

const char* macros_in_kernels() { return BUILD_MACROS; }
