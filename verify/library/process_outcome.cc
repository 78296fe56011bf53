#include "verify/library/process_outcome.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>

#include "core/contract.h"
#include "verify/cases/reason_kind.h"
#include "verify/library/kernel_result.h"
#include "verify/library/library_checks.h"
#include "verify/library/recto_kernel.h"
#include "verify/own_process.h"
#include "verify/quoted_text.h"

namespace recto::verify {
namespace {

// One line or several.
std::string message_of(const KernelRequest& request) {
  const char* const text = reinterpret_cast<const char*>(request.message.ours);
  std::string message(text, strnlen(text, static_cast<std::size_t>(request.message.bytes)));
  std::ranges::replace_if(
      message, [](char c) { return c != '\n' && is_control_character(c); }, '?');
  while (message.ends_with('\n')) message.pop_back();
  return message;
}

// Reasons of skipped cases are counted in a list of lines.
std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// The kind of a failure that the library reports: the message's text before the first ':'.
std::string status_kind(const std::string& message) {
  constexpr std::size_t kHeadingMax = 80;  // longer texts are sentences
  const std::size_t end = message.find_first_of(":\n");
  if (end > kHeadingMax || message[end] == '\n') return "status";
  return "status: " + reason_kind(message.substr(0, end));
}

std::string printed_after(const KernelAnswer& answer) {
  const std::string text = printed_text(answer.printed);
  return text.empty() ? "" : "\n" + text;
}

// Whether printed lines contain the message, which may have been truncated.
bool is_printed(const std::string& message, const KernelRequest& request,
                const KernelAnswer& answer) {
  const std::string text = "\n" + answer.printed + "\n";
  const std::size_t at = text.find("\n" + message);
  if (at == std::string::npos) return false;
  return text[at + 1 + message.size()] == '\n' || std::ssize(message) + 1 >= request.message.bytes;
}

// The library's text for a failure, or for an unknown status.
std::string said(const std::string& message, const KernelRequest& request,
                 const KernelAnswer& answer) {
  if (message.empty()) return ", without a message";
  if (is_printed(message, request, answer)) return "";
  if (message.find('\n') == std::string::npos) return ": '" + message + "'";
  return ", and says\n" + indented(message);
}

}  // namespace

CallOutcome outcome_of(const KernelRequest& request, const KernelAnswer& answer, KernelPeer& peer) {
  constexpr const char* kWrongMemory = "wrong memory";
  if (answer.end != KernelEnd::kAnswered) return failure_of_end(answer, peer);
  const std::string message = message_of(request);
  const std::string overrun = peer.arena().overrun_text();
  if (!overrun.empty())
    return Failed{kWrongMemory, "went beyond its memory: " + overrun + printed_after(answer)};
  if (const auto& stray = peer.mailbox().stray_write) {
    return Failed{kWrongMemory, "went beyond its memory: " + peer.arena().fault_text(*stray) +
                                    printed_after(answer)};
  }
  if (answer.code == kRectoUnsupported) {
    return Unsupported{message.empty() ? "unsupported, without a reason" : in_one_line(message)};
  }
  if (answer.is_told_by_message && answer.code != kRectoOk)
    return Failed{status_kind(message), message + printed_after(answer)};
  if (answer.code != kRectoOk) {
    return Failed{status_kind(message),
                  fmt::format("returned {}{}{}{}", answer.code,
                              answer.code == kRectoFailed ? "" : ", which is not a status",
                              said(message, request, answer), printed_after(answer))};
  }
  if (request.function == KernelFunction::kKvWrite) {
    const std::string stray = stray_text(request, peer.arena());
    if (stray.empty()) return Done{.printed = answer.printed};
    return Failed{kWrongMemory, "went beyond its blocks: " + stray + printed_after(answer)};
  }
  const std::string gap = gap_text(request, contents_of(request.written[0]));
  if (gap.empty()) return Done{.printed = answer.printed};
  return Failed{kWrongMemory, "went beyond its rows: " + gap + printed_after(answer)};
}

Failed failure_of_end(const KernelAnswer& answer, KernelPeer& peer) {
  std::string text;
  std::string kind;
  switch (answer.end) {
    case KernelEnd::kAnswered:
      RECTO_UNREACHABLE("an answer is judged by its status");
    case KernelEnd::kSignal:
      kind = signal_name(answer.code);
      text = "was ended by " + kind;
      if (answer.fault && (answer.code == SIGSEGV || answer.code == SIGBUS)) {
        text += ": " + peer.arena().fault_text(*answer.fault);
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
      text = fmt::format("left the device with the error '{}'", peer.mailbox().device_failure);
      break;
    case KernelEnd::kClosed:
      kind = "closed files";
      text = "closed file descriptors that are not its own, and did not continue";
      break;
    case KernelEnd::kTimeLimit:
      kind = kTimeOut;
      text = fmt::format("did not return within {} ms of CPU time", answer.time_limit_ms);
      break;
    case KernelEnd::kClockLimit:
      kind = kTimeOut;
      text = fmt::format(
          "did not return within {} ms by the clock, and used less than {} ms of CPU time",
          kClockLimitFactor * answer.time_limit_ms, answer.time_limit_ms);
      break;
    case KernelEnd::kHanging:
      kind = kTimeOut;
      text = fmt::format(
          "hangs: it did not return within {} ms by the clock, and in the last {} it waited and "
          "computed nothing",
          kClockLimitFactor * answer.time_limit_ms, answer.time_limit_ms);
      break;
  }
  return {kind, text + printed_after(answer)};
}

}  // namespace recto::verify
