#define RECTO_ATTENTION attention_like_checked
#include "verify/simt/checks/attention_like.cuh"
