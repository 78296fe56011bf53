#include "verify/kernel_abi/kernel_library.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>

#include "core/contract.h"
#include "verify/kernel_abi/kernel_result.h"
#include "verify/kernel_abi/library_checks.h"
#include "verify/kernel_abi/recto_kernel.h"
#include "verify/reason_kind.h"

namespace recto::verify {
namespace {

constexpr const char* kTimeOut = "time-out";  // a kind of failure

std::string message_of(const KernelRequest& request) {
  const char* const text = reinterpret_cast<const char*>(request.message.ours);
  std::string message(text, strnlen(text, static_cast<std::size_t>(request.message.bytes)));
  std::ranges::replace_if(message, is_control_character, '?');
  return message;
}

std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

std::string indented(const std::string& text) {
  std::string result = "  ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) result += "  ";
  }
  while (result.ends_with('\n')) result.pop_back();
  return result;
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

// The kind of a failure that the library reports: what its message says before the first ':'.
std::string status_kind(const std::string& message) {
  constexpr std::size_t kHeadingMax = 80;  // longer ones are sentences
  const std::size_t end = message.find(':');
  if (end > kHeadingMax) return "status";
  return "status: " + reason_kind(message.substr(0, end));
}

std::string printed_text(const KernelAnswer& answer) {
  return answer.printed.empty() ? "" : "\nit printed\n" + indented(answer.printed);
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

// Once more if the first time ran into the limit.
Result<KernelAnswer> KernelLibrary::start() {
  Result<KernelAnswer> answer = process_->start(options_.load_limit_ms);
  if (!answer.is_ok() || !is_time_out(answer.value().end)) return answer;
  return process_->start(options_.load_limit_ms);
}

Status KernelLibrary::load() {
  const Result<KernelAnswer> answer = start();
  RECTO_RETURN_IF_ERROR(answer.status());
  const KernelMailbox& mailbox = process_->mailbox();
  if (answer.value().end != KernelEnd::kAnswered) {
    return Status::invalid_input(
        fmt::format("{} {}",
                    mailbox.load_step == LoadStep::kLoading ? "what runs when it is loaded"
                                                            : "recto_kernel_table()",
                    judge_end(answer.value(), options_.load_limit_ms).text));
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
  const CallOutcome& outcome =
      make(request_attention(function, inputs, fresh, process_->arena())).outcome;
  if (outcome.kind != CallOutcome::Kind::kUnsupported) return std::nullopt;
  return outcome.text;
}

std::optional<std::string> KernelLibrary::why_unsupported(const KvWriteInputs& inputs) {
  RECTO_CHECK(has(KernelFunction::kKvWrite));
  const CallOutcome& outcome = make(request_kv_write(inputs, process_->arena())).outcome;
  if (outcome.kind != CallOutcome::Kind::kUnsupported) return std::nullopt;
  return outcome.text;
}

CallOutcome KernelLibrary::attend(KernelFunction function, const PagedAttentionInputs& inputs,
                                  reference::AttentionResult& result, const ResultMemory& results) {
  RECTO_CHECK(has(function));
  const Result<KernelRequest> request =
      request_attention(function, inputs, results, process_->arena());
  const MadeCall made = make(request);
  kept_.reset();
  if (made.outcome.kind == CallOutcome::Kind::kDone) {
    result = attention_result(inputs, request.value(), made.written[0], made.written[1]);
  }
  return made.outcome;
}

CallOutcome KernelLibrary::write_kv(const KvWriteInputs& inputs) {
  RECTO_CHECK(has(KernelFunction::kKvWrite));
  const Result<KernelRequest> request = request_kv_write(inputs, process_->arena());
  const MadeCall made = make(request);
  kept_.reset();
  if (made.outcome.kind == CallOutcome::Kind::kDone) {
    put_back(request.value().written[0], made.written[0], inputs.kv.k.data);
    put_back(request.value().written[1], made.written[1], inputs.kv.v.data);
  }
  CallOutcome outcome = made.outcome;
  if (outcome.kind == CallOutcome::Kind::kWrong) outcome.text += padding_text(inputs, outcome.text);
  return outcome;
}

void KernelLibrary::restart() {
  process_->stop();
  kept_.reset();
  std::erase_if(went_wrong_, [](const auto& call) { return call.second.failure != kTimeOut; });
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

CallOutcome KernelLibrary::call(const KernelRequest& request) {
  if (const auto known = went_wrong_.find(request.key); known != went_wrong_.end()) {
    return known->second;
  }
  std::int64_t& time_outs = time_outs_of(request.function);
  if (time_outs >= options_.time_outs_max) {
    return {CallOutcome::Kind::kUnsupported,
            fmt::format("given up after {} calls that did not come back", time_outs)};
  }
  Result<KernelAnswer> answer = answer_to(request);
  if (answer.is_ok() && is_time_out(answer.value().end)) {
    put_back_before(request);
    answer = answer_to(request);
    const bool is_late = answer.is_ok() && !is_time_out(answer.value().end);
    ++(is_late ? late_calls_ : time_outs);
  }
  if (!answer.is_ok())
    return {CallOutcome::Kind::kWrong, "loaded again: " + answer.status().message(),
            "load failure"};
  CallOutcome outcome = judge(request, answer.value());
  if (outcome.kind == CallOutcome::Kind::kWrong) {
    outcome.text = fmt::format("{} {}", kernel_function_name(request.function), outcome.text);
    if (request.is_distant)
      outcome.text += fmt::format("\nin pools whose blocks lie {}", kBeyond32Bits);
    went_wrong_[request.key] = outcome;
  }
  return outcome;
}

// Of a new process, if none is running. Not ok if the library cannot be loaded again.
Result<KernelAnswer> KernelLibrary::answer_to(const KernelRequest& request) {
  if (!process_->is_running()) RECTO_RETURN_IF_ERROR(load());
  return process_->call(request.function, request.call, options_.time_limit_ms);
}

CallOutcome KernelLibrary::judge(const KernelRequest& request, const KernelAnswer& answer) const {
  using enum CallOutcome::Kind;
  constexpr const char* kWrongMemory = "wrong memory";
  if (answer.end != KernelEnd::kAnswered) return judge_end(answer, options_.time_limit_ms);
  const std::string message = message_of(request);
  const std::string overrun = process_->arena().overrun_text();
  if (!overrun.empty())
    return {kWrong, "went beyond its memory: " + overrun + printed_text(answer), kWrongMemory};
  if (const auto& stray = process_->mailbox().stray_write) {
    return {
        kWrong,
        "went beyond its memory: " + process_->arena().fault_text(*stray) + printed_text(answer),
        kWrongMemory};
  }
  if (answer.code == kRectoUnsupported) {
    return {kUnsupported, message.empty() ? "unsupported, it says no more" : message};
  }
  if (answer.code != kRectoOk) {
    return {kWrong,
            fmt::format("returned {}{}: '{}'{}", answer.code,
                        answer.code == kRectoFailed ? "" : ", which is no status", message,
                        printed_text(answer)),
            status_kind(message)};
  }
  if (request.function == KernelFunction::kKvWrite) {
    const std::string stray = stray_text(request, process_->arena());
    if (stray.empty()) return {kDone};
    return {kWrong, "went beyond its blocks: " + stray + printed_text(answer), kWrongMemory};
  }
  const std::string gap = gap_text(request, contents_of(request.written[0]));
  if (gap.empty()) return {kDone};
  return {kWrong, "went beyond its rows: " + gap, kWrongMemory};
}

// Judges what ended the process instead of an answer.
CallOutcome KernelLibrary::judge_end(const KernelAnswer& answer, std::int64_t time_limit_ms) const {
  std::string text;
  std::string kind;
  switch (answer.end) {
    case KernelEnd::kAnswered:
      RECTO_UNREACHABLE("an answer is judged by its status");
    case KernelEnd::kSignal:
      kind = signal_name(answer.code);
      text = "was ended by " + kind;
      if (answer.code == SIGSEGV || answer.code == SIGBUS) {
        text += ": " + process_->arena().fault_text(answer.fault);
      } else if (answer.code == SIGXFSZ) {
        text += fmt::format(": it printed more than {} MiB, or wrote as much to a file",
                            kFileBytesMax >> 20);
      }
      break;
    case KernelEnd::kExit:
      kind = "exit";
      text = fmt::format("ended its process, with exit code {}", answer.code);
      break;
    case KernelEnd::kDevice:
      kind = "device error";
      text = fmt::format("left the device with '{}'", process_->mailbox().device_failure);
      break;
    case KernelEnd::kClosed:
      kind = "closed files";
      text = "closed files that are not its own, and did not go on";
      break;
    case KernelEnd::kTimeLimit:
      kind = kTimeOut;
      text = fmt::format("did not come back within {} ms of CPU time", time_limit_ms);
      break;
    case KernelEnd::kClockLimit:
      kind = kTimeOut;
      text = fmt::format(
          "did not come back within {} ms by the clock, of which it computed for "
          "less than {}",
          kClockLimitFactor * time_limit_ms, time_limit_ms);
      break;
  }
  return {CallOutcome::Kind::kWrong, text + printed_text(answer), kind};
}

}  // namespace recto::verify
