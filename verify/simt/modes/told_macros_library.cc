#include "verify/simt/modes/told_macros.h"

const char* told_in_library() { return TOLD_MACROS; }
