// What the standard library calls where a container, a span or a pointer is used out of its bounds,
// when it is built to look (_GLIBCXX_ASSERTIONS): in plain C++ it is what the executor's checks of
// memory are for kernels. Its own ends the program by a signal, which nobody could tell from a
// crash.

#include <cstdio>
#include <cstdlib>

namespace std {

[[noreturn]] void __glibcxx_assert_fail(const char* file, int line, const char* /*function*/,
                                        const char* condition) noexcept {
  std::printf("out of bounds: %s:%d: %s\n", file, line, condition);
  std::fflush(stdout);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace std
