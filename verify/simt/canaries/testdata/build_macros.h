#pragma once

// The macros that the BUILD file defines for a file: for a library with defines, local_defines and
// a flag, and for a kernel file and a program that depend on it.

#if defined(DEFINED_FOR_ALL)
#define BUILD_MACROS_ALL " all"
#else
#define BUILD_MACROS_ALL
#endif
#if defined(DEFINED_FOR_ITSELF)
#define BUILD_MACROS_ITSELF " itself"
#else
#define BUILD_MACROS_ITSELF
#endif
#if defined(DEFINED_BY_FLAG)
#define BUILD_MACROS_FLAG " flag"
#else
#define BUILD_MACROS_FLAG
#endif
#if defined(RECTO_SIMT_KERNEL_FILE)
#define BUILD_MACROS_KERNELS " kernels"
#else
#define BUILD_MACROS_KERNELS
#endif

// The macros of the file that includes this header.
#define BUILD_MACROS \
  "macros" BUILD_MACROS_ALL BUILD_MACROS_ITSELF BUILD_MACROS_FLAG BUILD_MACROS_KERNELS

// Return constants of those files, which are never tainted.
const char* macros_in_library();
const char* macros_in_kernels();
