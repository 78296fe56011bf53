int recto_kernel_tables(void);
int recto_kernel_tables(void) { return 0; }
