// Any bytes as commands on a small cache: the block manager does what its model does.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "core/contract.h"
#include "verify/models/lockstep.h"
#include "verify/models/scenario_bytes.h"

namespace {

constexpr std::int64_t kCommandsMax = 120;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace recto::verify;
  recto::install_throwing_contract_handler();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const CacheScenario scenario = scenario_from_bytes(bytes, kCommandsMax);
  Happenings happenings;
  Lockstep lockstep(scenario.options, scenario.how, happenings);
  try {
    for (const CacheCommand& command : scenario.commands) lockstep.run(command);
  } catch (const recto::ContractFailure& failure) {
    std::cerr << failure.what() << "\nafter" << lockstep.log() << std::endl;
    std::abort();
  }
  return 0;
}
