#include "verify/kernel_abi/kernel_library.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/contract.h"
#include "verify/kernel_abi/kernel_result.h"
#include "verify/kernel_abi/library_checks.h"
#include "verify/law.h"

namespace recto::verify {
namespace {

bool is_hanging(const Result<KernelAnswer>& answer) {
  return answer.is_ok() && answer.value().end == KernelEnd::kHanging;
}

// It ran into the limit, and may not have had the machine.
bool is_late(const Result<KernelAnswer>& answer) {
  return answer.is_ok() && is_time_out(answer.value().end) && !is_hanging(answer);
}

// A hint for a write that went before a cache, as a write to slot -1 does.
std::string padding_text(const KvWriteInputs& inputs, const std::string& text) {
  const auto row = std::ranges::find(inputs.slot_mapping, -1);
  const bool is_before = text.find(" before k_cache") != std::string::npos ||
                         text.find(" before v_cache") != std::string::npos;
  if (row == inputs.slot_mapping.end() || !is_before) return "";
  return fmt::format("\nrow {} has slot -1: nothing is to be written for it",
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

// Once more if the first time was late.
Result<KernelAnswer> KernelLibrary::start() {
  calls_of_process_ = 0;
  const LoadLimits limits = {.load_ms = options_.load_limit_ms, .table_ms = options_.time_limit_ms};
  Result<KernelAnswer> answer = process_->start(limits);
  return is_late(answer) ? process_->start(limits) : answer;
}

// What it was doing as it ended.
std::string KernelLibrary::load_step_text() const {
  const LoadStep step = process_->mailbox().load_step;
  if (step == LoadStep::kLoading) return "what runs when it is loaded";
  return step == LoadStep::kBeginning ? "what begins its device" : "recto_kernel_table()";
}

Status KernelLibrary::load() {
  const Result<KernelAnswer> answer = start();
  RECTO_RETURN_IF_ERROR(answer.status());
  const KernelMailbox& mailbox = process_->mailbox();
  if (answer.value().end != KernelEnd::kAnswered) {
    return Status::invalid_input(load_step_text() + " " +
                                 outcome_of_end(answer.value(), *process_).text);
  }
  RECTO_RETURN_IF_ERROR(check_loaded(mailbox));
  name_ = mailbox.table.name;
  std::ranges::copy(mailbox.table.has_function, has_function_);
  return Status::ok();
}

std::optional<std::string> KernelLibrary::why_unsupported(KernelFunction function,
                                                          const PagedAttentionInputs& inputs,
                                                          const ResultMemory& results) {
  RECTO_CHECK(has(function));
  ResultMemory fresh = results;
  fresh.stale = kStaleNaN;
  return take_refusal(make(request_attention(function, inputs, fresh, process_->arena())));
}

std::optional<std::string> KernelLibrary::why_unsupported(const KvWriteInputs& inputs) {
  RECTO_CHECK(has(KernelFunction::kKvWrite));
  return take_refusal(make(request_kv_write(inputs, process_->arena())));
}

// What is refused is not kept for a call that asks for results: none does. The same call made again
// is another one to the library.
std::optional<std::string> KernelLibrary::take_refusal(const MadeCall& made) {
  if (made.outcome.kind != CallOutcome::Kind::kUnsupported) return std::nullopt;
  std::string reason = made.outcome.text;
  kept_.reset();
  return reason;
}

CallOutcome KernelLibrary::attend(KernelFunction function, const PagedAttentionInputs& inputs,
                                  reference::AttentionResult& result, const ResultMemory& results) {
  RECTO_CHECK(has(function));
  const Result<KernelRequest> request =
      request_attention(function, inputs, results, process_->arena());
  const MadeCall made = take(request);
  if (made.outcome.kind == CallOutcome::Kind::kDone) {
    result = attention_result(inputs, request.value(), made.written[0], made.written[1]);
  }
  return made.outcome;
}

CallOutcome KernelLibrary::write_kv(const KvWriteInputs& inputs) {
  RECTO_CHECK(has(KernelFunction::kKvWrite));
  const Result<KernelRequest> request = request_kv_write(inputs, process_->arena());
  const MadeCall made = take(request);
  if (made.outcome.kind == CallOutcome::Kind::kDone) {
    put_back(request.value().written[0], made.written[0], inputs.kv.k.data);
    put_back(request.value().written[1], made.written[1], inputs.kv.v.data);
  }
  CallOutcome outcome = made.outcome;
  if (outcome.kind == CallOutcome::Kind::kWrong) outcome.text += padding_text(inputs, outcome.text);
  return outcome;
}

void KernelLibrary::restart() {
  are_trials_ = true;
  process_->stop();
  kept_.reset();
  std::erase_if(went_wrong_, [](const auto& call) {
    return call.second.outcome.failure != kTimeOut || !call.second.is_first_of_process;
  });
}

const KernelLibrary::MadeCall& KernelLibrary::make(const Result<KernelRequest>& request) {
  if (!request.is_ok()) {
    kept_ = MadeCall{.outcome = {CallOutcome::Kind::kUnsupported, request.status().message()}};
    return *kept_;
  }
  const KernelRequest& wanted = request.value();
  if (kept_ && kept_->key == wanted.key) return *kept_;
  MadeCall made{.key = wanted.key, .outcome = call(wanted)};
  for (std::size_t i = 0; i < std::size(made.written); ++i)
    made.written[i] = contents_of(wanted.written[i]);
  kept_ = std::move(made);
  return *kept_;
}

// For who gets the results.
KernelLibrary::MadeCall KernelLibrary::take(const Result<KernelRequest>& request) {
  MadeCall made = make(request);
  kept_.reset();
  if (printed_.size() < kPrintedBytes) printed_ += made.outcome.printed;
  return made;
}

std::string KernelLibrary::take_printed() {
  std::string text = printed_text(printed_);
  printed_.clear();
  return text;
}

CallOutcome KernelLibrary::call(const KernelRequest& request) {
  if (const auto known = went_wrong_.find(request.key); known != went_wrong_.end()) {
    return known->second.outcome;
  }
  const std::int64_t time_outs = time_outs_of(request.function);
  if (!are_trials_ && time_outs >= options_.time_outs_max) {
    return {CallOutcome::Kind::kUnsupported,
            fmt::format("given up after {} that did not come back",
                        time_outs == 1 ? "a call" : fmt::format("{} calls", time_outs))};
  }
  const bool is_first = !process_->is_running() || calls_of_process_ == 0;
  Result<KernelAnswer> answer = answer_to(request);
  if (is_first && is_late(answer)) {
    put_back_before(request);
    answer = answer_to(request);
    if (answer.is_ok() && !is_time_out(answer.value().end)) ++late_calls_;
  }
  if (!answer.is_ok())
    return {CallOutcome::Kind::kWrong, "loaded again: " + answer.status().message(),
            "load failure"};
  CallOutcome outcome = outcome_of(request, answer.value(), *process_);
  outcome.is_perhaps_machine = !is_first && is_late(answer);
  count_time_outs(request, outcome);
  if (outcome.kind == CallOutcome::Kind::kWrong) {
    outcome.text = fmt::format("{} {}", kernel_function_name(request.function), outcome.text);
    if (request.is_distant)
      outcome.text += fmt::format("\nin pools whose blocks lie {}", kBeyond32Bits);
    went_wrong_[request.key] = {outcome, is_first};
  }
  return outcome;
}

// A call that was late for once, as is seen when it is made again, does not count. Trials make many
// calls that resemble one that is late.
void KernelLibrary::count_time_outs(const KernelRequest& request, const CallOutcome& outcome) {
  const auto late = late_.find(request.key);
  if (outcome.kind == CallOutcome::Kind::kWrong && outcome.failure == kTimeOut) {
    if (late != late_.end()) {
      late->second = false;
    } else if (!are_trials_) {
      late_[request.key] = outcome.is_perhaps_machine;
      ++time_outs_of(request.function);
    }
    return;
  }
  if (late == late_.end() || !late->second) return;
  late_.erase(late);
  --time_outs_of(request.function);
  ++late_calls_;
}

// Of a new process, if none is running. Not ok if the library cannot be loaded again.
Result<KernelAnswer> KernelLibrary::answer_to(const KernelRequest& request) {
  if (!process_->is_running()) RECTO_RETURN_IF_ERROR(load());
  ++calls_of_process_;
  return process_->call(request.function, request.call, options_.time_limit_ms);
}

}  // namespace recto::verify
