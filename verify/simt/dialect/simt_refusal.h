#pragma once

// How a name of CUDA's is refused: using it is a compile-time error.

#define RECTO_SIMT_REFUSAL(name)                   \
  __attribute__((unavailable("verify/simt: " #name \
                             " is not supported; verify/simt/README.md lists what is")))

// With any arguments, and any template arguments.
#define RECTO_SIMT_REFUSE(name) \
  template <typename...>        \
  int name(...) RECTO_SIMT_REFUSAL(name);
