#include "verify/models/cache_command.h"

#include <utility>

namespace recto::verify {

const char* command_kind_name(CommandKind kind) {
  constexpr std::array<const char*, kNumCommandKinds> kNames = {
      "admit",     "append",   "append batch", "reserve", "commit", "fork",
      "beam step", "truncate", "release",      "preempt", "resume", "swap out",
      "swap in",   "complete", "pin",          "unpin",   "reset",  "misuse"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::ostream& operator<<(std::ostream& out, const CacheCommand& command) {
  out << command_kind_name(command.kind);
  for (const auto& [name, value] :
       {std::pair{"who", command.who}, std::pair{"base", command.base},
        std::pair{"length", command.length}, std::pair{"count", command.count},
        std::pair{"token", command.token}, std::pair{"extra", command.extra},
        std::pair{"flavour", command.flavour}}) {
    if (value != 0) out << ' ' << name << ' ' << value;
  }
  return out;
}

}  // namespace recto::verify
