#pragma once

// Reports of AddressSanitizer, UBSan and MemorySanitizer name a file and a line. Where a kernel
// runs in a program that has one of them, a line more says which kernel, thread block and thread it
// was.

namespace recto::simt {

// From now on, in the whole program. Nothing happens in one without sanitizers.
void name_threads_in_sanitizer_reports();

}  // namespace recto::simt
