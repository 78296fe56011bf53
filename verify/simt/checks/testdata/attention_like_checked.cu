#define RECTO_ATTENTION attention_like_checked
#include "verify/simt/checks/testdata/attention_like.cuh"
