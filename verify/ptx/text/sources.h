#pragma once

// Where code of a module comes from, as its .file and .loc lines say.

#include <cstdint>
#include <string>
#include <vector>

namespace recto::ptx::text {

struct Place {
  std::uint32_t ptx_line = 0;
  std::uint32_t file = 0;  // an index as in `.file`; 0 if there is no .loc
  std::uint32_t line = 0;
  std::uint32_t inlined_at = 0;  // an index of Sources::call_sites; 0: not inlined
};

// A call whose function the compiler has inlined.
struct CallSite {
  // No more are kept of a line that the compiler has copied to many places.
  static constexpr std::size_t kCallersMax = 4;

  std::uint32_t file = 0;
  std::uint32_t line = 0;
  // Where the code around the call was inlined, as Place says it. If there are several, the PTX
  // does not say from which of them a copy of the call comes.
  std::vector<std::uint32_t> inlined_at = {};
};

struct Sources {
  std::vector<std::string> files = {};      // by the index of `.file`
  std::vector<CallSite> call_sites = {{}};  // the first is none

  // "" if there is no such file.
  std::string file(std::uint32_t index) const { return index < files.size() ? files[index] : ""; }
  // The calls by which the code at the place was inlined, beginning with the innermost:
  // "load.cuh:5 or load.cuh:8, kernel.cu:19".
  std::string calls_text(const Place& place) const;
};

}  // namespace recto::ptx::text
