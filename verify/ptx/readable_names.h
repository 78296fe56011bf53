#pragma once

// Names of C++ in messages: compilers mangle them in PTX.

#include <string>
#include <string_view>

namespace recto::ptx {

// The text, with each mangled name in it replaced: "_Z5scalePfi" by "scale", kernels of templates
// by "a::scale<float>", and a variable of a function, "_ZZ5scalePfiE4rows", by "rows".
std::string readable_names(std::string_view text);

}  // namespace recto::ptx
