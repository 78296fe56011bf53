#include "verify/ptx/module.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "verify/ptx/program/copy_removal.h"
#include "verify/ptx/program/decoder.h"
#include "verify/ptx/program/layout.h"
#include "verify/ptx/text/parser.h"

namespace recto::ptx {
namespace {

constexpr std::uint64_t kVariableBytesMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kAlignmentMin = 256;  // of the memory of a module's variables

std::uint64_t aligned(std::uint64_t address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

}  // namespace

struct Module::State {
  text::Module text;
  std::unique_ptr<void, decltype(&std::free)> storage{nullptr, &std::free};
  DeviceMemory variables;
  Symbols symbols;

  // Gives every variable of global or constant memory its address. Variables of functions are
  // named "function/variable".
  Status place_variables();
  Status initialise(const text::Variable& variable, std::uintptr_t begin) const;
};

Status Module::State::place_variables() {
  struct Placed {
    const text::Variable* variable;
    std::string name;
    std::uint64_t offset;
  };
  std::vector<Placed> placed;
  std::uint64_t bytes = 0;
  std::uint64_t alignment = kAlignmentMin;
  const auto place = [&](const text::Variable& variable, const std::string& name) {
    if (variable.space != text::Space::kGlobal && variable.space != text::Space::kConst) {
      return Status::ok();
    }
    bytes = aligned(bytes, variable.alignment);
    alignment = std::max<std::uint64_t>(alignment, variable.alignment);
    placed.push_back({&variable, name, bytes});
    bytes += variable.bytes;
    if (bytes <= kVariableBytesMax) return Status::ok();
    return Status::invalid_input("line " + std::to_string(variable.line) + ": variables take " +
                                 std::to_string(bytes) + " bytes, more than " +
                                 std::to_string(kVariableBytesMax));
  };
  for (const text::Variable& variable : text.variables) {
    RECTO_RETURN_IF_ERROR(place(variable, variable.name));
  }
  for (const text::Function& function : text.functions) {
    for (const text::Variable& variable : function.variables) {
      RECTO_RETURN_IF_ERROR(place(variable, function.name + "/" + variable.name));
    }
  }
  // Zeros that the system gives once they are touched.
  storage.reset(std::calloc(1, bytes + alignment));
  if (storage == nullptr) {
    return Status::invalid_input("there is no memory for " + std::to_string(bytes) +
                                 " bytes of variables");
  }
  const std::uintptr_t begin = aligned(reinterpret_cast<std::uintptr_t>(storage.get()), alignment);
  for (const Placed& each : placed) {
    symbols[each.name] = begin + each.offset;
    const bool is_const = each.variable->space == text::Space::kConst;
    variables.add({each.variable->name, begin + each.offset,
                   static_cast<std::size_t>(each.variable->bytes),
                   is_const ? BufferAccess::kReadOnly : BufferAccess::kReadWrite});
  }
  for (const Placed& each : placed) {
    RECTO_RETURN_IF_ERROR(initialise(*each.variable, begin + each.offset));
  }
  return Status::ok();
}

Status Module::State::initialise(const text::Variable& variable, std::uintptr_t begin) const {
  for (const text::InitialValue& value : variable.initial) {
    std::uint64_t bits = value.bits;
    if (!value.symbol.empty()) {
      const auto found = symbols.find(value.symbol);
      if (found == symbols.end()) {
        return Status::invalid_input("line " + std::to_string(variable.line) + ": '" +
                                     value.symbol + "' is no variable with an address");
      }
      bits += found->second;
    }
    std::memcpy(reinterpret_cast<void*>(begin + value.offset), &bits, value.bytes);
  }
  return Status::ok();
}

Module::Module(std::unique_ptr<State> state) : state_(std::move(state)) {}
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

Result<Module> Module::parse(std::string_view text) {
  Result<text::Module> parsed = text::parse(text);
  if (!parsed.is_ok()) return parsed.status();
  auto state = std::make_unique<State>();
  state->text = std::move(parsed).value();
  RECTO_RETURN_IF_ERROR(state->place_variables());
  return Module(std::move(state));
}

std::vector<std::string> Module::kernel_names() const {
  std::vector<std::string> names;
  for (const text::Function& function : state_->text.functions) {
    if (function.is_entry && function.is_defined) names.push_back(function.name);
  }
  return names;
}

Result<Kernel> Module::kernel(std::string_view name) const {
  const auto& functions = state_->text.functions;
  const auto found = std::find_if(functions.begin(), functions.end(), [&](const auto& function) {
    return function.is_entry && function.is_defined && function.name == name;
  });
  if (found == functions.end()) {
    return Status::invalid_input("the module has no kernel '" + std::string(name) + "'");
  }
  Result<Draft> draft = decode(state_->text, state_->symbols, *found);
  if (!draft.is_ok()) return draft.status();
  remove_copies(draft.value());
  Kernel kernel;
  kernel.tracked_ = std::make_shared<Program>(layout(draft.value(), {.tracks_undefined = true}));
  kernel.plain_ = std::make_shared<Program>(layout(std::move(draft).value(), {}));
  kernel.sources_ = &state_->text.sources;
  kernel.variables_ = &state_->variables;
  return kernel;
}

std::vector<Parameter> Module::parameters(std::string_view kernel) const {
  std::vector<Parameter> parameters;
  for (const text::Function& function : state_->text.functions) {
    if (function.name != kernel || !function.is_entry || !function.is_defined) continue;
    for (std::uint32_t i = 0; i < function.num_parameters; ++i) {
      const text::Variable& variable = function.variables[i];
      parameters.push_back(
          {variable.name, std::string(name_of(variable.type)), std::size_t{variable.bytes}});
    }
  }
  return parameters;
}

const DeviceMemory& Module::variables() const { return state_->variables; }

}  // namespace recto::ptx
