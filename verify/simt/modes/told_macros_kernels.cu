#include <kernel_dialect.h>

#include "verify/simt/modes/told_macros.h"

std::string told_in_kernels() { return TOLD_MACROS; }
