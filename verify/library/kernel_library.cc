#include "verify/library/kernel_library.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/contract.h"
#include "verify/library/kernel_caller.h"
#include "verify/library/kernel_process.h"
#include "verify/library/kernel_result.h"
#include "verify/library/library_checks.h"
#include "verify/library/process_outcome.h"
#include "verify/library/recto_kernel.h"

namespace recto::verify {
namespace {

bool is_hanging(const Result<KernelAnswer>& answer) {
  return answer.is_ok() && answer.value().end == KernelEnd::kHanging;
}

// It exceeded the time limit, possibly because the machine was busy.
bool is_late(const Result<KernelAnswer>& answer) {
  return answer.is_ok() && is_time_out(answer.value().end) && !is_hanging(answer);
}

// A hint for a write before the start of a cache, as by a write to slot -1.
std::string padding_text(const KvWriteInputs& inputs, const std::string& text) {
  const auto row = std::ranges::find(inputs.slot_mapping, -1);
  const bool is_before = text.find(" before k_cache") != std::string::npos ||
                         text.find(" before v_cache") != std::string::npos;
  if (row == inputs.slot_mapping.end() || !is_before) return "";
  return fmt::format("\nrow {} has slot -1: nothing should be written for it",
                     row - inputs.slot_mapping.begin());
}

}  // namespace

Result<std::shared_ptr<KernelLibrary>> KernelLibrary::open(const std::string& path,
                                                           const KernelLibraryOptions& options) {
  const Result<std::string> file = library_file(path);
  RECTO_RETURN_IF_ERROR(file.status());
  Result<std::unique_ptr<KernelProcess>> process =
      KernelProcess::create(file.value(), options.device);
  RECTO_RETURN_IF_ERROR(process.status());
  std::shared_ptr<KernelLibrary> library(
      new KernelLibrary(path, options, std::move(process).value()));
  RECTO_RETURN_IF_ERROR(library->load().in(path));
  return library;
}

Result<std::shared_ptr<KernelLibrary>> KernelLibrary::of_caller(
    int socket, const KernelLibraryOptions& options) {
  Result<std::unique_ptr<KernelCaller>> caller = KernelCaller::create(socket);
  RECTO_RETURN_IF_ERROR(caller.status());
  std::shared_ptr<KernelLibrary> library(
      new KernelLibrary("the caller", options, std::move(caller).value()));
  RECTO_RETURN_IF_ERROR(library->load().in(library->path()));
  return library;
}

// Repeats a late start once.
Result<KernelAnswer> KernelLibrary::start() {
  calls_of_process_ = 0;
  const LoadLimits limits = {.load_ms = options_.load_limit_ms, .table_ms = options_.time_limit_ms};
  Result<KernelAnswer> answer = peer_->start(limits);
  return is_late(answer) ? peer_->start(limits) : answer;
}

// Which step of loading was running at the end.
std::string KernelLibrary::load_step_text() const {
  const LoadStep step = peer_->mailbox().load_step;
  if (step == LoadStep::kLoading) return "its load-time code";
  return step == LoadStep::kBeginning ? "its device initialisation" : "recto_kernel_table()";
}

Status KernelLibrary::load() {
  const Result<KernelAnswer> answer = start();
  RECTO_RETURN_IF_ERROR(answer.status());
  const KernelMailbox& mailbox = peer_->mailbox();
  if (answer.value().end != KernelEnd::kAnswered) {
    return Status::invalid_input(load_step_text() + " " +
                                 failure_of_end(answer.value(), *peer_).message);
  }
  RECTO_RETURN_IF_ERROR(check_loaded(mailbox));
  name_ = mailbox.table.name;
  std::ranges::copy(mailbox.table.has_function, has_function_);
  return Status::ok();
}

CallOutcome KernelLibrary::attend(KernelFunction function, const PagedAttentionInputs& inputs,
                                  const CallOptions& options) {
  RECTO_CHECK(has(function));
  if (const auto why = options_.demands.why_left_out(inputs)) return Unsupported{*why};
  const ResultMemory results{.stale = options.stale_memory, .gaps = options.out_gaps};
  const Result<KernelRequest> request =
      request_attention(function, inputs, results, peer_->arena());
  if (!request.is_ok()) return Unsupported{request.status().message()};
  CallOutcome outcome = call(request.value());
  if (auto* const done = std::get_if<Done>(&outcome)) {
    const auto& [out, lse_ln] = request.value().written;
    done->result = attention_result(inputs, request.value(), contents_of(out), contents_of(lse_ln));
    // A caller says it for each call.
    if ((peer_->mailbox().table.features & kRectoWithoutLseLn) != 0) done->result.lse_ln.clear();
  }
  return outcome;
}

CallOutcome KernelLibrary::write_kv(const KvWriteInputs& inputs) {
  RECTO_CHECK(has(KernelFunction::kKvWrite));
  if (const auto why = options_.demands.why_left_out(inputs)) return Unsupported{*why};
  const Result<KernelRequest> request = request_kv_write(inputs, peer_->arena());
  if (!request.is_ok()) return Unsupported{request.status().message()};
  CallOutcome outcome = call(request.value());
  if (std::holds_alternative<Done>(outcome)) {
    const auto& [k, v] = request.value().written;
    put_back(k, contents_of(k), inputs.kv.k.data);
    put_back(v, contents_of(v), inputs.kv.v.data);
  } else if (auto* const failed = std::get_if<Failed>(&outcome)) {
    failed->message += padding_text(inputs, failed->message);
  }
  return outcome;
}

void KernelLibrary::restart(CallsAre calls) {
  are_trials_ = calls == CallsAre::kTrials;
  peer_->stop();
  std::erase_if(went_wrong_, [](const auto& call) {
    const auto& [failure, is_first_of_process] = call.second;
    return failure.kind != kTimeOut || failure.may_be_machine || !is_first_of_process;
  });
}

CallOutcome KernelLibrary::call(const KernelRequest& request) {
  if (const auto known = went_wrong_.find(request.key); known != went_wrong_.end())
    return known->second.failure;
  const std::int64_t time_outs = time_outs_of(request.function);
  if (!are_trials_ && time_outs >= options_.time_outs_max) {
    return Unsupported{fmt::format("no longer called, after {} that did not return",
                                   time_outs == 1 ? "a call" : fmt::format("{} calls", time_outs))};
  }
  const bool is_first = !peer_->is_running() || calls_of_process_ == 0;
  const Result<KernelAnswer> answer = answer_to(request);
  if (!answer.is_ok()) return Failed{"load failure", "loaded again: " + answer.status().message()};
  CallOutcome outcome = outcome_of(request, answer.value(), *peer_);
  count_time_outs(request, answer.value().end);
  if (auto* const failed = std::get_if<Failed>(&outcome)) {
    failed->may_be_machine = is_late(answer) && late_before_.insert(request.key).second;
    failed->message = fmt::format("{} {}", kernel_function_name(request.function), failed->message);
    if (request.is_distant)
      failed->message += fmt::format("\nin pools whose blocks lie {}", kBeyond32Bits);
    went_wrong_[request.key] = {*failed, is_first};
  }
  return outcome;
}

// A late call that returns in time when repeated does not count. Trials do not count either,
// because they make many calls similar to a late one.
void KernelLibrary::count_time_outs(const KernelRequest& request, KernelEnd end) {
  std::int64_t& time_outs = time_outs_of(request.function);
  if (is_time_out(end) && !are_trials_ && late_.insert(request.key).second) ++time_outs;
  if (!is_time_out(end) && late_.erase(request.key) > 0) --time_outs;
}

// Starts a new process if none is running. Not ok if the library cannot be loaded again.
Result<KernelAnswer> KernelLibrary::answer_to(const KernelRequest& request) {
  if (!peer_->is_running()) RECTO_RETURN_IF_ERROR(load());
  ++calls_of_process_;
  return peer_->call(request.function, request.call, options_.time_limit_ms);
}

}  // namespace recto::verify
