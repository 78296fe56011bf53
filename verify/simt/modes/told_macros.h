#pragma once

// Which macros a file is told of, as the BUILD file says: of a library with defines, local_defines
// and a flag, of a file of kernels and of a program that depend on it.

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

// In the file that includes this.
#define TOLD_MACROS "told" TOLD_MACROS_ALL TOLD_MACROS_ITSELF TOLD_MACROS_FLAG TOLD_MACROS_KERNELS

// Constants of those files: tainted memory has nothing to say of them.
const char* told_in_library();
const char* told_in_kernels();
