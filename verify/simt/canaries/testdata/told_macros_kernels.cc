#include "verify/simt/canaries/testdata/told_macros.h"

const char* told_in_kernels() { return TOLD_MACROS; }
