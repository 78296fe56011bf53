// Fuzz target: arbitrary bytes as commands on a small cache; the block manager must behave as its
// model does.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "core/contract.h"
#include "cuda/cache/testing/cache_scenario.h"
#include "verify/block_manager/testing/lockstep.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace recto;
  install_throwing_contract_handler();
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const cache::testing::CacheScenario scenario =
      cache::testing::scenario_of({.blocks_max = 15, .groups_max = 2, .commands_max = 120}, bytes);
  cache::testing::Coverage coverage;
  verify::Lockstep lockstep(scenario.options, scenario.alphabet, coverage);
  try {
    for (const cache::testing::CacheCommand& command : scenario.commands) lockstep.run(command);
  } catch (const ContractFailure& failure) {
    std::cerr << failure.what() << "\nafter" << lockstep.walk().log() << std::endl;
    std::abort();
  }
  return 0;
}
