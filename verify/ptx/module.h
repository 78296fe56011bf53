#pragma once

// A PTX module that is loaded: its variables have memory, its kernels can be launched.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "verify/ptx/machine/device_memory.h"
#include "verify/ptx/program/program.h"

namespace recto::ptx {

// A parameter of a kernel, as it is declared: "u64", "f32"; "b8" of many bytes is a struct.
struct Parameter {
  std::string name;
  std::string type;
  std::size_t bytes = 0;
};

// A kernel that is decoded. Refers to its module.
class Kernel {
 public:
  const std::string& name() const { return plain_->kernel; }
  const Program& program() const { return *plain_; }
  // The same, with the steps marked that undefined registers may reach.
  const Program& tracked_program() const { return *tracked_; }
  const text::Sources& sources() const { return *sources_; }
  const DeviceMemory& variables() const { return *variables_; }

 private:
  friend class Module;
  std::shared_ptr<const Program> plain_;
  std::shared_ptr<const Program> tracked_;
  const text::Sources* sources_ = nullptr;
  const DeviceMemory* variables_ = nullptr;
};

class Module {
 public:
  // Invalid input: what is not PTX, with its line.
  static Result<Module> parse(std::string_view text);

  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  ~Module();

  std::vector<std::string> kernel_names() const;
  // Decodes the kernel. Invalid input: no kernel has this name, or it has instructions that cannot
  // be run, with the line of the first.
  Result<Kernel> kernel(std::string_view name) const;
  // Empty if no kernel has this name.
  std::vector<Parameter> parameters(std::string_view kernel) const;

  // Global and constant variables by name, with the addresses that kernels see. Constants are
  // read-only to kernels.
  const DeviceMemory& variables() const;

 private:
  struct State;
  explicit Module(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace recto::ptx
