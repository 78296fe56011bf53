#pragma once

// Where the variables of a module and of its functions are.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/status.h"
#include "verify/ptx/program/program.h"

namespace recto::ptx {

// What a module's names stand for: addresses of global and constant variables.
using Symbols = std::unordered_map<std::string, std::uint64_t>;

struct Location {
  MemorySpace space = MemorySpace::kLocal;
  std::uint64_t address = 0;
};

class Variables {
 public:
  Variables(const text::Module& module, const Symbols& symbols, Program& program)
      : module_(module), symbols_(symbols), program_(program) {}

  // The parameters of a kernel, and all shared variables that it may reach.
  Status place_kernel(const text::Function& kernel, std::vector<Location>* parameters);
  // Adds the variables of a function behind those that it has been given.
  Status place_function(const text::Function& function, std::vector<Location>* places);
  // A variable of the module.
  std::optional<Location> find(const std::string& name) const;

 private:
  Status place_shared(const text::Function& kernel);
  void place_shared_variable(const text::Variable& variable, const std::string& key);
  void place_dynamic_shared();
  Status place_local(const text::Variable& variable, std::vector<Location>* places);

  const text::Module& module_;
  const Symbols& symbols_;
  Program& program_;
  std::map<std::string, Location> shared_;  // those of functions as "function/variable"
};

}  // namespace recto::ptx
