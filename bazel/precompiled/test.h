// The header that each test reads first, precompiled.

#include "bazel/precompiled/library.h"
#include "bazel/testing/catch.h"
