#include "cuda/cache/testing/cache_command.h"

#include <array>
#include <utility>

namespace recto::cache::testing {

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

std::ostream& operator<<(std::ostream& out, const CacheCall& call) {
  out << command_kind_name(call.kind);
  for (const SequenceHandle handle : call.sequences) {
    out << " s" << handle.index << '.' << handle.generation;
  }
  if (!call.text.ids.empty()) out << ' ' << call.text;
  if (call.room) out << " room " << *call.room;
  if (call.count != TokenCount(0)) out << " count " << call.count;
  if (call.kind == CommandKind::kBeamStep) out << " to";
  for (const std::int32_t parent : call.parent_of) out << ' ' << parent;
  return out;
}

}  // namespace recto::cache::testing
