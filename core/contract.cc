#include "core/contract.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace recto {
namespace {

void abort_on_failure(const ContractReport& report) {
  std::fprintf(stderr, "%s\n", report.message().c_str());
  std::abort();
}

void throw_on_failure(const ContractReport& report) { throw ContractFailure(report.message()); }

std::atomic<ContractHandler> current_handler{abort_on_failure};

}  // namespace

std::string ContractReport::message() const {
  std::string text =
      std::string(file) + ":" + std::to_string(line) + ": contract broken: " + expression;
  if (!detail.empty()) text += " (" + detail + ")";
  return text;
}

ContractHandler set_contract_handler(ContractHandler handler) {
  return current_handler.exchange(handler);
}

void install_throwing_contract_handler() { set_contract_handler(throw_on_failure); }

void fail_contract(const ContractReport& report) {
  current_handler.load()(report);
  std::abort();
}

namespace internal {

void fail_condition(const char* file, int line, const char* expression, std::string_view detail) {
  fail_contract({file, line, expression, std::string(detail)});
}

}  // namespace internal
}  // namespace recto
