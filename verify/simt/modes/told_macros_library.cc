#include "verify/simt/modes/told_macros.h"

std::string told_in_library() { return TOLD_MACROS; }
