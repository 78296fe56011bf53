// The main() of every Catch2 test.

#include "bazel/testing/catch.h"

int main(int argc, char** argv) { return recto::testing::run_tests(argc, argv); }
