#include "verify/library/cudart/modules.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "verify/ptx/readable_names.h"

namespace recto::cudart {
namespace {

constexpr int kDefaultTarget = 80;

}  // namespace

RegisteredModule& Modules::add(std::string text) {
  return modules_.emplace_back(RegisteredModule{.text = std::move(text)});
}

RegisteredModule& Modules::add_unusable(std::string why) {
  return modules_.emplace_back(RegisteredModule{.text = {}, .why_unusable = std::move(why)});
}

void Modules::remove(const RegisteredModule& module) {
  const auto is_of = [&](const auto& entry) { return entry.second.module == &module; };
  std::erase_if(kernels_, is_of);
  std::erase_if(named_, is_of);
  std::erase_if(variables_, is_of);
}

void Modules::add_kernel(RegisteredModule& module, const void* host, const std::string& name) {
  kernels_.insert_or_assign(host, RegisteredKernel{.module = &module, .name = name});
}

void Modules::add_variable(RegisteredModule& module, const void* host, const std::string& name) {
  variables_.insert_or_assign(host, Variable{&module, name});
}

Status Modules::parse(RegisteredModule& module) {
  if (!module.why_unusable.empty()) return Status::invalid_input(module.why_unusable);
  if (module.parsed) return Status::ok();
  Result<ptx::Module> parsed = ptx::Module::parse(module.text);
  RECTO_RETURN_IF_ERROR(parsed.status().in("PTX"));
  module.parsed = std::move(parsed).value();
  return Status::ok();
}

Result<RegisteredKernel*> Modules::ready(RegisteredKernel& kernel) {
  if (kernel.decoded) return &kernel;
  const std::string context = "kernel '" + ptx::readable_names(kernel.name) + "'";
  RECTO_RETURN_IF_ERROR(parse(*kernel.module).in(context));
  Result<ptx::Kernel> decoded = kernel.module->parsed->kernel(kernel.name);
  RECTO_RETURN_IF_ERROR(decoded.status().in(context));
  kernel.decoded = std::move(decoded).value();
  return &kernel;
}

Result<RegisteredKernel*> Modules::kernel(const void* host) {
  const auto found = kernels_.find(host);
  if (found != kernels_.end()) return ready(found->second);
  return Status::invalid_input("launch: expected a kernel of a registered module");
}

Result<RegisteredKernel*> Modules::kernel_named(const std::string& name) {
  const auto known = named_.find(name);
  if (known != named_.end()) return ready(known->second);
  std::string others;
  std::optional<RegisteredKernel> found;
  for (RegisteredModule& module : modules_) {
    RECTO_RETURN_IF_ERROR(parse(module));
    for (const std::string& each : module.parsed->kernel_names()) {
      others += (others.empty() ? "" : ", ") + each;
      if (each != name && ptx::readable_names(each) != name) continue;
      if (found) return Status::invalid_input("kernel '" + name + "': several modules have it");
      found = RegisteredKernel{.module = &module, .name = each};
    }
  }
  if (!found) {
    return Status::invalid_input("kernel '" + name + "': expected one of " +
                                 (others.empty() ? "a module's kernels" : others));
  }
  return ready(named_.insert_or_assign(name, *std::move(found)).first->second);
}

Result<ptx::Buffer> Modules::variable(const void* host) {
  const auto found = variables_.find(host);
  if (found == variables_.end()) {
    return Status::invalid_input("expected a variable of a registered module");
  }
  RECTO_RETURN_IF_ERROR(parse(*found->second.module));
  for (const ptx::Buffer& buffer : found->second.module->parsed->variables().buffers()) {
    if (buffer.name == found->second.name) return buffer;
  }
  return Status::invalid_input("variable '" + found->second.name + "': the module has none");
}

int Modules::target() const {
  constexpr std::string_view kTarget = ".target sm_";
  for (const RegisteredModule& module : modules_) {
    const std::size_t at = module.text.find(kTarget);
    if (at == std::string::npos) continue;
    return std::atoi(module.text.c_str() + at + kTarget.size());
  }
  return kDefaultTarget;
}

}  // namespace recto::cudart
