// The list of backends: each one that can run here agrees with the oracle on some case, or passes
// its own law; the others give a reason.

#include "verify/backend_list.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/instantiations.h"
#include "verify/drawn_cases.h"
#include "verify/kernels/device_call.h"
#include "verify/law.h"

namespace recto::verify {
namespace {

// Head dims that every kernel supports; mostly decode.
DrawnCases served_cases() {
  DrawnCases cases{.name = "served", .count = 32};
  cases.domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kChunk};
  cases.domain.head_dims = {64, 128};
  cases.domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  cases.domain.groups = {1, 4};
  cases.domain.block_sizes = {16, 32};
  cases.domain.num_seqs_max = 2;
  cases.domain.num_kv_heads_max = 2;
  cases.domain.num_rows_max = 3;
  return cases;
}

std::vector<std::string> names_of(const std::vector<ListedBackend>& list) {
  std::vector<std::string> names;
  for (const ListedBackend& listed : list) names.push_back(listed.backend.name);
  return names;
}

TEST_CASE("every backend that can run here keeps its law, and the others say why not") {
  std::vector<Backend> backends;
  std::vector<Law> laws = {oracle_comparison()};
  std::map<std::string, std::string> absent;  // backend -> why it is not here
  for (const ListedBackend& listed : backend_list()) {
    backends.push_back(listed.backend);
    laws.insert(laws.end(), listed.laws.begin(), listed.laws.end());
    if (listed.why_not_here) absent[listed.backend.name] = *listed.why_not_here;
  }
  const LawReport report =
      run_laws(laws, backends, drawn_cases(served_cases(), {}), {.failures_kept = 1});
  report.print(std::cout);
  CHECK(report.failed() == 0);
  const std::vector<std::string> untried = report.untried_backends();
  std::set<std::string> names;
  for (const auto& [name, why] : absent) names.insert(name);
  CHECK(std::set(untried.begin(), untried.end()) == names);
  for (const LawCount& count : report.counts) {
    const auto found = absent.find(count.backend);
    if (found == absent.end()) continue;
    CHECK(count.ran() == 0);
    // Laws of cache operations do not apply to some cases, which is a second reason.
    if (count.law != laws.front().name) continue;
    CHECK(count.skipped.size() == 1);
    CHECK(count.skipped.contains(found->second));
  }
}

TEST_CASE("names are one word each, and stand for one backend") {
  std::set<std::string> seen;
  for (const ListedBackend& listed : backend_list()) {
    CHECK(seen.insert(listed.backend.name).second);
    CHECK(listed.backend.name.find_first_of(" ,") == std::string::npos);
    CHECK_FALSE(listed.about.empty());
  }
}

// The kernels of this program that are listed.
std::set<std::string> listed_kernels(const std::vector<ListedBackend>& list) {
  std::set<std::string> kernels;
  for (const ListedBackend& listed : list)
    if (!listed.kernel.empty()) kernels.insert(listed.kernel);
  return kernels;
}

// The first column of the table, below its heading.
std::set<std::string> instantiated_kernels() {
  std::istringstream table(instantiation_table());
  std::set<std::string> kernels;
  std::string line;
  for (int row = 0; std::getline(table, line); ++row)
    if (row >= 2) kernels.insert(line.substr(2, line.find(" |", 2) - 2));
  return kernels;
}

TEST_CASE("each instantiated kernel is listed, and nothing else") {
  const std::set<std::string> instantiated = instantiated_kernels();
  CHECK(instantiated.size() > 1);
  CHECK(listed_kernels(backend_list()) == instantiated);
}

TEST_CASE(
    "each kernel is listed for the CPU and for a GPU, and the one that cannot run here says why") {
  std::vector<std::string> here;
  std::vector<std::string> elsewhere;
  for (const ListedBackend& listed : backend_list()) {
    if (listed.kind == BackendKind::kReference || listed.kind == BackendKind::kPtx) continue;
    const bool is_gpu = listed.kind == BackendKind::kGpu;
    CHECK(listed.backend.name.ends_with("@gpu") == is_gpu);
    const std::string name = listed.backend.name.substr(0, listed.backend.name.find('@'));
    (is_gpu == runs_on_gpu() ? here : elsewhere).push_back(name);
    if (is_gpu != runs_on_gpu()) CHECK(listed.why_not_here);
    // Backends that compute no attention have their own laws where they can run.
    if (is_gpu == runs_on_gpu())
      CHECK((listed.backend.computes_attention() || !listed.laws.empty()));
  }
  CHECK(here == elsewhere);
}

TEST_CASE("backends are chosen by name or kind, in the order of the list") {
  const std::vector<ListedBackend> list = backend_list();
  CHECK(names_of(choose_backends(list, {}).value()) == names_of(list));
  CHECK(names_of(choose_backends(list, {"reference-decode", "naive-fp64"}).value()) ==
        std::vector<std::string>{"naive-fp64", "reference-decode"});
  CHECK(names_of(choose_backends(list, {"host-api"}).value()) ==
        std::vector<std::string>{"host-api", "host-api-invariant", "host-api-step"});
  const std::vector<ListedBackend> on_gpu = choose_backends(list, {"gpu"}).value();
  CHECK_FALSE(on_gpu.empty());
  for (const ListedBackend& listed : on_gpu) CHECK(listed.kind == BackendKind::kGpu);
}

TEST_CASE("an unlisted backend is refused, and the message lists the backends") {
  const std::string message = choose_backends(backend_list(), {"naive"}).status().message();
  CHECK(
      (message.starts_with("found 'naive'; expected one of reference, executor, host-api, gpu, "
                           "ptx, naive-fp64, online-fp64")));
  CHECK((message.ends_with(", " + backend_list().back().backend.name)));
}

}  // namespace
}  // namespace recto::verify
