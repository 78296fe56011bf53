// The same for tests.

#include "bazel/precompiled/library.h"
#include "bazel/testing/catch.h"
