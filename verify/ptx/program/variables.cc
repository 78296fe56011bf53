#include "verify/ptx/program/variables.h"

#include <algorithm>

namespace recto::ptx {
namespace {

constexpr std::uint64_t kLocalBytesMax = 512 << 10;  // CUDA C++ Programming Guide, limits
constexpr std::uint64_t kSharedBytesMax = 227 << 10;
constexpr std::uint64_t kParameterBytesMax = 1 << 20;

std::uint64_t aligned(std::uint64_t address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

// The size of dynamic shared memory is only known at the launch.
bool is_shared(const text::Variable& variable) { return variable.space == text::Space::kShared; }
bool is_dynamic(const text::Variable& variable) { return variable.bytes == 0; }

std::string key_of(const text::Function& function, const text::Variable& variable) {
  return function.name + "/" + variable.name;
}

}  // namespace

Status Variables::place_kernel(const text::Function& kernel, std::vector<Location>* parameters) {
  std::uint64_t offset = 0;
  for (std::uint32_t i = 0; i < kernel.num_parameters; ++i) {
    const text::Variable& parameter = kernel.variables[i];
    offset = aligned(offset, parameter.alignment);
    parameters->push_back({MemorySpace::kParam, offset});
    program_.parameters.push_back({parameter.name, offset, parameter.bytes});
    offset += parameter.bytes;
    if (offset > kParameterBytesMax) return Status::invalid_input("too many parameters");
  }
  program_.parameter_bytes = static_cast<std::uint32_t>(offset);
  program_.local_bytes = kLocalBegin;
  return place_shared(kernel);
}

// Shared variables of the module come first, dynamic ones last. All of the latter begin at the same
// address.
Status Variables::place_shared(const text::Function& kernel) {
  program_.shared_bytes = kSharedBegin;
  for (const text::Variable& variable : module_.variables) {
    if (is_shared(variable) && !is_dynamic(variable)) {
      place_shared_variable(variable, variable.name);
    }
  }
  for (const text::Function& function : module_.functions) {
    if (&function != &kernel && function.is_entry) continue;
    for (const text::Variable& variable : function.variables) {
      if (is_shared(variable) && !is_dynamic(variable)) {
        place_shared_variable(variable, key_of(function, variable));
      }
    }
  }
  if (program_.shared_bytes > kSharedBegin + kSharedBytesMax) {
    return Status::invalid_input("shared variables take " +
                                 std::to_string(program_.shared_bytes - kSharedBegin) +
                                 " bytes, more than " + std::to_string(kSharedBytesMax));
  }
  place_dynamic_shared();
  return Status::ok();
}

void Variables::place_shared_variable(const text::Variable& variable, const std::string& key) {
  const std::uint64_t begin = aligned(program_.shared_bytes, variable.alignment);
  program_.shared.push_back({variable.name, begin, variable.bytes});
  program_.shared_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(begin + variable.bytes, std::uint64_t{1} << 31));
  shared_[key] = {MemorySpace::kShared, begin};
}

void Variables::place_dynamic_shared() {
  std::uint64_t alignment = 16;
  for (const text::Variable& variable : module_.variables) {
    if (!is_shared(variable) || !is_dynamic(variable)) continue;
    alignment = std::max<std::uint64_t>(alignment, variable.alignment);
  }
  program_.dynamic_shared_begin =
      static_cast<std::uint32_t>(aligned(program_.shared_bytes, alignment));
  for (const text::Variable& variable : module_.variables) {
    if (!is_shared(variable) || !is_dynamic(variable)) continue;
    shared_[variable.name] = {MemorySpace::kShared, program_.dynamic_shared_begin};
    if (!program_.has_dynamic_shared) {
      program_.shared.push_back({variable.name, program_.dynamic_shared_begin, 0});
    }
    program_.has_dynamic_shared = true;
  }
}

Status Variables::place_local(const text::Variable& variable, std::vector<Location>* places) {
  const std::uint64_t begin = aligned(program_.local_bytes, variable.alignment);
  if (begin + variable.bytes > kLocalBytesMax) {
    return Status::invalid_input("local variables take more than " +
                                 std::to_string(kLocalBytesMax) + " bytes");
  }
  program_.local_bytes = static_cast<std::uint32_t>(begin + variable.bytes);
  places->push_back({MemorySpace::kLocal, begin});
  return Status::ok();
}

Status Variables::place_function(const text::Function& function, std::vector<Location>* places) {
  for (std::size_t i = places->size(); i < function.variables.size(); ++i) {
    const text::Variable& variable = function.variables[i];
    switch (variable.space) {
      case text::Space::kShared:
        places->push_back(is_dynamic(variable)
                              ? Location{MemorySpace::kShared, program_.dynamic_shared_begin}
                              : shared_[key_of(function, variable)]);
        break;
      case text::Space::kLocal:
      case text::Space::kParam:
        RECTO_RETURN_IF_ERROR(place_local(variable, places));
        break;
      default: {
        const auto found = symbols_.find(key_of(function, variable));
        places->push_back({MemorySpace::kGlobal, found != symbols_.end() ? found->second : 0});
      }
    }
  }
  return Status::ok();
}

std::optional<Location> Variables::find(const std::string& name) const {
  if (const auto found = shared_.find(name); found != shared_.end()) return found->second;
  if (const auto found = symbols_.find(name); found != symbols_.end()) {
    return Location{MemorySpace::kGlobal, found->second};
  }
  return std::nullopt;
}

}  // namespace recto::ptx
