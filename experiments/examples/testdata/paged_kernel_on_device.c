// The example as a library that takes a device's memory alone. On a stand-in for a device, which a
// CPU can read, it is right, too.

#define recto_kernel_table host_kernel_table
#include "experiments/examples/paged_kernel.c"
#undef recto_kernel_table

__attribute__((visibility("default"))) const RectoKernelTable* recto_kernel_table(void);

const RectoKernelTable* recto_kernel_table(void) {
  static RectoKernelTable table;
  table = *host_kernel_table();
  table.memories = kRectoDeviceMemory;
  return &table;
}
