#include "verify/simt/modes/told_macros.h"

const char* told_in_kernels() { return TOLD_MACROS; }
