#define RECTO_ATTENTION attention_like_plain
#include "verify/simt/checks/attention_like.cuh"
