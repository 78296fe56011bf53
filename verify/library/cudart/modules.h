#pragma once

// The kernels that a program has registered, from the fat binaries of its host code or as PTX text.
// Modules are parsed and kernels decoded when they are first needed.

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"
#include "verify/ptx/module.h"

namespace recto::cudart {

struct RegisteredModule {
  std::string text;
  std::string why_unusable = {};  // of a fat binary without PTX
  std::optional<ptx::Module> parsed = {};
};

struct RegisteredKernel {
  RegisteredModule* module = nullptr;
  std::string name = {};  // in the PTX
  // What cudaFuncSetAttribute allows for dynamic shared memory.
  std::size_t dynamic_shared_bytes_max = std::size_t{48} << 10;
  std::optional<ptx::Kernel> decoded = {};
};

class Modules {
 public:
  // References stay valid as long as this object.
  RegisteredModule& add(std::string text);
  // For a fat binary that cannot be used: launches of its kernels say why.
  RegisteredModule& add_unusable(std::string why);
  void remove(const RegisteredModule& module);

  // `host` is what host code passes to launches.
  void add_kernel(RegisteredModule& module, const void* host, const std::string& name);
  void add_variable(RegisteredModule& module, const void* host, const std::string& name);

  // Invalid input: nothing is registered at this address, or its module or the kernel cannot be
  // run, with the PTX line.
  Result<RegisteredKernel*> kernel(const void* host);
  // A kernel by its name in PTX, or by its readable name, if only one module has it.
  Result<RegisteredKernel*> kernel_named(const std::string& name);
  Result<ptx::Buffer> variable(const void* host);

  // Calls visit(module) for each one that is parsed.
  template <typename Visit>
  void for_each_parsed(Visit visit) const {
    for (const RegisteredModule& module : modules_) {
      if (module.parsed) visit(*module.parsed);
    }
  }
  // 10 times the compute capability for which the first module is compiled, as "80"; 80 for none.
  int target() const;

 private:
  struct Variable {
    RegisteredModule* module = nullptr;
    std::string name = {};
  };

  static Status parse(RegisteredModule& module);
  static Result<RegisteredKernel*> ready(RegisteredKernel& kernel);

  std::deque<RegisteredModule> modules_;
  std::map<const void*, RegisteredKernel> kernels_;
  std::map<std::string, RegisteredKernel> named_;
  std::map<const void*, Variable> variables_;
};

}  // namespace recto::cudart
