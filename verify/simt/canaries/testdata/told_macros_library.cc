#include "verify/simt/canaries/testdata/told_macros.h"

const char* told_in_library() { return TOLD_MACROS; }
