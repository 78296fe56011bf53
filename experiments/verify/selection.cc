#include "experiments/verify/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "core/refusal.h"
#include "experiments/support/numbers.h"
#include "experiments/support/table.h"
#include "verify/block_manager/engine_tables_law.h"
#include "verify/kernels/kernel_heap.h"
#include "verify/law.h"
#include "verify/laws/laws.h"
#include "verify/library/kernel_device.h"
#include "verify/own_process.h"

namespace recto::experiments {
namespace {

using verify::Law;
using verify::ListedBackend;

// The limits of --time-limit, in seconds.
constexpr double kTimeLimitMin = 0.001;
constexpr double kTimeLimitMax = 86'400;

constexpr std::int64_t kDescriptorMax = 1 << 20;

constexpr const char* kListedNames = "names of recto verify --list";

Result<std::vector<std::string>> names_in(const std::string& list, const std::string& named_by) {
  if (list.empty()) return std::vector<std::string>{};
  Result<std::vector<std::string>> names = split_list(list);
  RECTO_RETURN_IF_ERROR(names.status().in(named_by));
  return names;
}

// The library's functions, named "decode" or "NAME decode".
Result<std::vector<ListedBackend>> library_functions(const std::vector<verify::Backend>& backends,
                                                     const std::vector<std::string>& names,
                                                     bool is_batch_invariant) {
  const auto is_meant = [](const verify::Backend& backend, const std::string& name) {
    return backend.name == name || backend.name.ends_with(" " + name);
  };
  for (const std::string& name : names) {
    if (std::ranges::any_of(backends, [&](const auto& known) { return is_meant(known, name); }))
      continue;
    return Status::invalid_input(fmt::format("found '{}'; expected one of {}", name,
                                             list_names(backends, &verify::Backend::name)));
  }
  std::vector<ListedBackend> chosen;
  for (const verify::Backend& backend : backends) {
    const bool is_chosen = std::ranges::any_of(
        names, [&](const std::string& name) { return is_meant(backend, name); });
    if (!names.empty() && !is_chosen) continue;
    ListedBackend listed;
    listed.backend = backend;
    listed.backend.capabilities.has_independent_rows = is_batch_invariant;
    listed.backend.capabilities.has_independent_sequences = is_batch_invariant;
    listed.kind = verify::BackendKind::kLibrary;
    listed.about = "of the kernel library";
    chosen.push_back(listed);
  }
  return chosen;
}

Result<std::vector<Law>> choose_laws(const std::vector<Law>& laws,
                                     const std::vector<std::string>& names) {
  if (names.empty()) return laws;
  std::vector<Law> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(laws, name, &Law::name);
    if (found != laws.end()) {
      chosen.push_back(*found);
      continue;
    }
    return Status::invalid_input(
        fmt::format("found '{}'; expected one of {}", name, list_names(laws, &Law::name)));
  }
  return chosen;
}

std::vector<Law> laws_of_attention() {
  std::vector<Law> laws = verify::all_laws();
  laws.insert(laws.end(), {verify::engine_tables_law(), verify::oracle_comparison()});
  return laws;
}

std::vector<Law> laws_without_library(const std::vector<ListedBackend>& list) {
  std::vector<Law> laws = laws_of_attention();
  for (const ListedBackend& listed : list)
    laws.insert(laws.end(), listed.laws.begin(), listed.laws.end());
  return laws;
}

// Loads the library, building it first if it is given as sources.
Result<std::string> library_path(const SelectionFlags& flags, Selection& selection) {
  if (!flags.kernel.empty()) return flags.kernel;
  Result<verify::BuiltLibrary> built = verify::build_cuda_library(flags.cuda);
  RECTO_RETURN_IF_ERROR(built.status());
  selection.built = std::make_shared<const verify::BuiltLibrary>(std::move(built).value());
  return selection.built->path();
}

verify::KernelLibraryOptions library_options(const SelectionFlags& flags,
                                             const verify::CaseDemands& demands) {
  verify::KernelLibraryOptions options;
  options.demands = demands;
  options.numerics = flags.numerics;
  options.device = verify::kernel_device();
  if (!flags.cuda.adapter.empty()) options.time_limit_ms = kSourcesLimitMs;
  if (flags.time_limit_s) {
    options.time_limit_ms = static_cast<std::int64_t>(std::ceil(*flags.time_limit_s * 1000));
    options.load_limit_ms = std::max(options.load_limit_ms, options.time_limit_ms);
  }
  return options;
}

// A library's functions, or a caller's.
Result<verify::LibraryUnderTest> open_library(const SelectionFlags& flags, Selection& selection) {
  const Result<verify::CaseDemands> demands = demands_of(flags.filter);
  RECTO_RETURN_IF_ERROR(demands.status());
  const verify::KernelLibraryOptions options = library_options(flags, demands.value());
  if (flags.caller) {
    const auto library = verify::KernelLibrary::of_caller(static_cast<int>(*flags.caller), options);
    RECTO_RETURN_IF_ERROR(library.status().in("--caller"));
    return verify::library_under_test(library.value());
  }
  Result<std::string> path = library_path(flags, selection);
  RECTO_RETURN_IF_ERROR(path.status());
  auto library = verify::library_under_test(path.value(), options);
  RECTO_RETURN_IF_ERROR(library.status().in(flags.kernel.empty() ? "--adapter" : "--kernel"));
  return library;
}

}  // namespace

std::string SelectionFlags::library_text() const {
  std::string text = is_batch_invariant ? " --batch-invariant" : "";
  if (time_limit_s) text += fmt::format(" --time-limit {}", *time_limit_s);
  text += numerics_flag_text(numerics);
  if (!kernel.empty()) return " --kernel " + shell_word(kernel) + text;
  for (const std::string& source : cuda.sources) text += " --cuda " + shell_word(source);
  if (!cuda.ptx.empty()) text += " --ptx " + shell_word(cuda.ptx);
  if (!cuda.arch.empty()) text += " --arch " + shell_word(cuda.arch);
  if (!cuda.adapter.empty()) text += " --adapter " + shell_word(cuda.adapter);
  for (const std::string& folder : cuda.include_folders) text += " --include " + shell_word(folder);
  for (const std::string& macro : cuda.macros) text += " --define " + shell_word(macro);
  for (const std::string& option : cuda.nvcc_options)
    text += " --nvcc-option " + shell_word(option);
  return text;
}

void add_backend_flag(Command& command, SelectionFlags& flags, const std::string& about) {
  std::vector<std::string> names;
  for (const ListedBackend& listed : verify::backend_list()) {
    const std::string kind = verify::backend_kind_name(listed.kind);
    if (std::ranges::find(names, kind) == names.end()) names.push_back(kind);
    if (listed.backend.name != kind) names.push_back(listed.backend.name);
  }
  command.add("--backend LIST", nonempty_text(flags.backends, kListedNames), about).value.known =
      names;
}

void add_law_flag(Command& command, SelectionFlags& flags) {
  std::vector<std::string> names;
  for (const Law& law : laws_without_library(verify::backend_list())) names.push_back(law.name);
  command.add("--law LIST", nonempty_text(flags.laws, kListedNames), "names of --list [all]")
      .value.known = names;
}

void add_library_flags(Command& command, SelectionFlags& flags) {
  command.add("--kernel FILE", nonempty_text(flags.kernel, "a file"),
              "shared library with the table of recto_kernel.h, not the list");
  command
      .add("--adapter FILE", nonempty_text(flags.cuda.adapter, "a file"),
           "instead, C++ that passes recto's calls to CUDA sources or PTX")
      .excludes = {"--kernel"};
  const auto add = [&command](const char* names, OptionValue value, const char* about) {
    command.add(names, std::move(value), about).needs = {"--adapter"};
  };
  add("--cuda FILE", nonempty_text(flags.cuda.sources, "a file"), "CUDA source; may be repeated");
  add("--ptx FILE", nonempty_text(flags.cuda.ptx, "a file"),
      "PTX, whose kernels the adapter launches by name");
  add("--arch NUMBER", nonempty_text(flags.cuda.arch, "a number"),
      "compute capability for which nvcc compiles: 80, 90, 90a [80]");
  add("--include DIR", nonempty_text(flags.cuda.include_folders, "a folder"),
      "folder of its headers; may be repeated");
  add("--define MACRO", any_text(flags.cuda.macros), "macro, NAME or NAME=VALUE; may be repeated");
  add("--nvcc-option OPTION", nonempty_text(flags.cuda.nvcc_options, "an option"),
      "further option of nvcc, as --fmad=false; may be repeated");
  command
      .add("--caller FD", integer(flags.caller, {0, kDescriptorMax}),
           "socket of a process that answers the calls: for packages")
      .excludes = {"--kernel", "--adapter"};
  add_numerics_flag(command, flags.numerics);
  command.add("--batch-invariant", flag(flags.is_batch_invariant),
              "require equal bits where only the batch or the chunks differ");
  command.add(
      "--time-limit S", number(flags.time_limit_s, {kTimeLimitMin, kTimeLimitMax}),
      fmt::format("CPU seconds per call of the library [{}, from sources {}]",
                  verify::KernelLibraryOptions{}.time_limit_ms / 1000, kSourcesLimitMs / 1000));
}

std::vector<verify::Backend> Selection::backends_here() const {
  std::vector<verify::Backend> here;
  for (const ListedBackend& listed : backends)
    if (!listed.why_not_here) here.push_back(listed.backend);
  return here;
}

Result<Selection> select_checks(const SelectionFlags& flags) {
  const auto backend_names = names_in(flags.backends, flags.backends_named_by);
  RECTO_RETURN_IF_ERROR(backend_names.status());
  const auto law_names = names_in(flags.laws, flags.laws_named_by);
  RECTO_RETURN_IF_ERROR(law_names.status());
  std::vector<Law> laws = laws_of_attention();
  Selection selection;
  if (flags.is_batch_invariant && !flags.has_library()) {
    return Status::invalid_input(
        "--batch-invariant: expected --kernel or --adapter, too: listed backends declare it "
        "themselves");
  }
  if (flags.time_limit_s && !flags.has_library()) {
    return Status::invalid_input(
        "--time-limit: expected --kernel or --adapter, too: listed backends have no limit");
  }
  if (!flags.has_library()) {
    verify::let_kernels_reach_heap();
    const std::vector<ListedBackend> list = verify::backend_list();
    auto chosen = verify::choose_backends(list, backend_names.value());
    RECTO_RETURN_IF_ERROR(chosen.status().in(flags.backends_named_by));
    selection.backends = std::move(chosen).value();
    laws = laws_without_library(list);
  } else {
    const auto library = open_library(flags, selection);
    RECTO_RETURN_IF_ERROR(library.status());
    auto chosen = library_functions(library.value().backends, backend_names.value(),
                                    flags.is_batch_invariant);
    RECTO_RETURN_IF_ERROR(chosen.status().in(flags.backends_named_by));
    selection.backends = std::move(chosen).value();
    laws.insert(laws.end(), library.value().laws.begin(), library.value().laws.end());
    selection.set_write_observer = library.value().set_write_observer;
  }
  auto chosen = choose_laws(laws, law_names.value());
  RECTO_RETURN_IF_ERROR(chosen.status().in(flags.laws_named_by));
  selection.laws = std::move(chosen).value();
  // A caller is slow: the comparison that takes one call comes first, and reduces a failure.
  if (flags.caller)
    std::ranges::stable_partition(selection.laws, [](auto& law) { return law.name == "oracle"; });
  // A contract violation in a kernel ends its case, not the program.
  install_throwing_contract_handler();
  return selection;
}

std::set<std::string> names_on_executor(const Selection& selection) {
  std::set<std::string> names;
  for (const ListedBackend& listed : selection.backends) {
    const bool is_on_executor = listed.kind == verify::BackendKind::kExecutor ||
                                listed.kind == verify::BackendKind::kHostApi;
    if (is_on_executor && !listed.why_not_here) names.insert(listed.backend.name);
  }
  return names;
}

std::vector<Law> checked_in_forks(std::vector<Law> laws, const std::set<std::string>& names,
                                  const verify::ForkNotes& notes) {
  for (Law& law : laws) {
    const bool is_oracle = law.name == "oracle";
    law.check = [is_oracle, names, plain = law.check, forked = in_own_process(law, notes).check](
                    const verify::Backend& backend, const verify::LawCase& law_case,
                    verify::BoundKind bound_kind) {
      if (!names.contains(backend.name)) return plain(backend, law_case, bound_kind);
      if (!is_oracle) return forked(backend, law_case, bound_kind);
      return plain(in_own_process(backend), law_case, bound_kind);
    };
  }
  return laws;
}

std::string selection_text(const Selection& selection) {
  Table backends({{"backend", Align::kLeft}, {"kind", Align::kLeft}, {"what", Align::kLeft}});
  for (const ListedBackend& listed : selection.backends) {
    backends.add_row({listed.backend.name, verify::backend_kind_name(listed.kind),
                      listed.why_not_here ? "not here: " + *listed.why_not_here : listed.about});
  }
  Table laws({{"law", Align::kLeft}, {"says", Align::kLeft}});
  for (const Law& law : selection.laws) laws.add_row({law.name, law.statement});
  return backends.text() + "\n" + laws.text();
}

}  // namespace recto::experiments
