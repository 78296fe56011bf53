#pragma once

// Reports of AddressSanitizer, UBSan and MemorySanitizer name a file and a line. If a kernel runs
// in a program that is built with one of them, an additional line says which kernel, thread block
// and thread it was.

namespace recto::simt {

// Takes effect from now on, in the whole program. Does nothing in a program without sanitizers.
void name_threads_in_sanitizer_reports();

}  // namespace recto::simt
