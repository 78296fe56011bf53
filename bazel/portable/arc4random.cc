// libstdc++'s archive refers to arc4random of glibc 2.36, for std::random_device, which no program
// of ours has. The reference alone would bind a program to that version of glibc.

#include <cstdlib>

extern "C" unsigned arc4random() { std::abort(); }
