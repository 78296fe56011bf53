#define RECTO_ATTENTION attention_like_plain
#include "verify/simt/checks/testdata/attention_like.cuh"
