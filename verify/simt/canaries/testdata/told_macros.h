#pragma once

// The macros that the BUILD file defines for a file: for a library with defines, local_defines and
// a flag, and for a kernel file and a program that depend on it.

#if defined(TOLD_TO_ALL)
#define TOLD_MACROS_ALL " all"
#else
#define TOLD_MACROS_ALL
#endif
#if defined(TOLD_TO_ITSELF)
#define TOLD_MACROS_ITSELF " itself"
#else
#define TOLD_MACROS_ITSELF
#endif
#if defined(TOLD_BY_FLAG)
#define TOLD_MACROS_FLAG " flag"
#else
#define TOLD_MACROS_FLAG
#endif
#if defined(RECTO_SIMT_KERNEL_FILE)
#define TOLD_MACROS_KERNELS " kernels"
#else
#define TOLD_MACROS_KERNELS
#endif

// The macros of the file that includes this header.
#define TOLD_MACROS "told" TOLD_MACROS_ALL TOLD_MACROS_ITSELF TOLD_MACROS_FLAG TOLD_MACROS_KERNELS

// Return constants of those files, which are never tainted.
const char* told_in_library();
const char* told_in_kernels();
