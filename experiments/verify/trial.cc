#include "experiments/verify/trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/support/table.h"
#include "experiments/support/text_list.h"
#include "verify/kernel_abi/kernel_library_backends.h"
#include "verify/laws/laws.h"
#include "verify/oracle_comparison.h"

namespace recto::experiments {
namespace {

using verify::Law;
using verify::ListedBackend;

Result<std::vector<std::string>> names_in(const std::string& list, const char* flag) {
  if (list.empty()) return std::vector<std::string>{};
  Result<std::vector<std::string>> names = split_list(list);
  RECTO_RETURN_IF_ERROR(names.status().in(flag));
  return names;
}

// The library's functions, by "decode" or by "NAME decode".
Result<std::vector<ListedBackend>> library_functions(const std::vector<verify::Backend>& backends,
                                                     const std::vector<std::string>& names) {
  const auto is_meant = [](const verify::Backend& backend, const std::string& name) {
    return backend.name == name || backend.name.ends_with(" " + name);
  };
  for (const std::string& name : names) {
    if (std::ranges::any_of(backends, [&](const auto& known) { return is_meant(known, name); }))
      continue;
    std::string known;
    for (const auto& backend : backends) known += (known.empty() ? "" : ", ") + backend.name;
    return Status::invalid_input(
        fmt::format("--backend: found '{}'; expected one of {}", name, known));
  }
  std::vector<ListedBackend> chosen;
  for (const verify::Backend& backend : backends) {
    const bool is_chosen = std::ranges::any_of(
        names, [&](const std::string& name) { return is_meant(backend, name); });
    if (!names.empty() && !is_chosen) continue;
    ListedBackend listed;
    listed.backend = backend;
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
    std::string known;
    for (const Law& law : laws) known += (known.empty() ? "" : ", ") + law.name;
    return Status::invalid_input(fmt::format("--law: found '{}'; expected one of {}", name, known));
  }
  return chosen;
}

}  // namespace

std::vector<verify::Backend> Trial::backends_here() const {
  std::vector<verify::Backend> here;
  for (const ListedBackend& listed : backends)
    if (!listed.why_not_here) here.push_back(listed.backend);
  return here;
}

Result<Trial> choose_trial(const TrialFlags& flags) {
  const auto backend_names = names_in(flags.backends, "--backend");
  RECTO_RETURN_IF_ERROR(backend_names.status());
  const auto law_names = names_in(flags.laws, "--law");
  RECTO_RETURN_IF_ERROR(law_names.status());
  std::vector<Law> laws = verify::all_laws();
  laws.push_back(verify::oracle_comparison());
  Trial trial;
  if (flags.kernel.empty()) {
    auto chosen = verify::choose_backends(verify::backend_list(), backend_names.value());
    RECTO_RETURN_IF_ERROR(chosen.status().in("--backend"));
    trial.backends = std::move(chosen).value();
  } else {
    const auto library = verify::kernel_library_trial(flags.kernel);
    RECTO_RETURN_IF_ERROR(library.status().in("--kernel"));
    auto chosen = library_functions(library.value().backends, backend_names.value());
    RECTO_RETURN_IF_ERROR(chosen.status());
    trial.backends = std::move(chosen).value();
    laws.insert(laws.end(), library.value().laws.begin(), library.value().laws.end());
  }
  auto chosen = choose_laws(laws, law_names.value());
  RECTO_RETURN_IF_ERROR(chosen.status());
  trial.laws = std::move(chosen).value();
  return trial;
}

std::string trial_text(const Trial& trial) {
  Table backends({{"backend", Align::kLeft}, {"kind", Align::kLeft}, {"what", Align::kLeft}});
  for (const ListedBackend& listed : trial.backends) {
    backends.add_row({listed.backend.name, verify::backend_kind_name(listed.kind),
                      listed.why_not_here ? "not here: " + *listed.why_not_here : listed.about});
  }
  Table laws({{"law", Align::kLeft}, {"says", Align::kLeft}});
  for (const Law& law : trial.laws) laws.add_row({law.name, law.statement});
  return backends.text() + "\n" + laws.text();
}

}  // namespace recto::experiments
