#pragma once

// Descriptions of accesses and addresses, for messages.

#include <cstddef>
#include <cstdint>
#include <string>

#include "verify/simt/executor/device_memory.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/executor/shared_memory.h"

namespace recto::simt {

// "reads 4 bytes of k_cache+64".
std::string access_text(const AccessShape& shape, const std::string& place);

// Who may touch that piece: "owner 1's", "for owners 1, 2 and 3", "nobody's". O(owners).
std::string owners_text(const LogicalBounds& bounds, std::size_t piece);

// "shared tile+16", or "4 bytes past the end of shared tile (256 bytes)"; the address must be
// within the memory.
std::string shared_text(const SharedMemory& memory, std::uintptr_t address);

}  // namespace recto::simt
