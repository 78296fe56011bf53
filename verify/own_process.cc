#include "verify/own_process.h"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/contract.h"
#include "verify/quoted_text.h"

namespace recto::verify {
namespace {

constexpr std::size_t kPrintedMax = 2000;  // bytes shown of what a call printed

// Values one after the other, for a process of the same program.
class Writer {
 public:
  template <typename T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void add(const std::string& text) { add_list(std::span(text)); }
  void add(const std::vector<double>& values) { add_list(std::span(values)); }
  void add(const std::optional<std::string>& text) {
    add(text.has_value());
    if (text) add(*text);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  void add_list(std::span<const T> values) {
    add(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }

  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : left_(bytes) {}

  template <typename T>
  void take(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    take_bytes(reinterpret_cast<char*>(&value), sizeof(T));
  }
  void take(std::string& text) { take_list(text); }
  void take(std::vector<double>& values) { take_list(values); }
  void take(std::optional<std::string>& text) {
    bool has_text = false;
    take(has_text);
    if (has_text) take(text.emplace());
  }

 private:
  template <typename List>
  void take_list(List& list) {
    std::size_t size = 0;
    take(size);
    list.resize(size);
    take_bytes(reinterpret_cast<char*>(list.data()), size * sizeof(list[0]));
  }
  void take_bytes(char* to, std::size_t count) {
    RECTO_CHECK_LE(count, left_.size());
    std::copy_n(left_.begin(), count, to);
    left_.remove_prefix(count);
  }

  std::string_view left_;
};

void add_failed(Writer& writer, const Failed& failed) {
  writer.add(failed.kind);
  writer.add(failed.message);
}

Failed take_failed(Reader& reader) {
  Failed failed;
  reader.take(failed.kind);
  reader.take(failed.message);
  return failed;
}

std::string bytes_of(const CallOutcome& outcome) {
  Writer writer;
  writer.add(outcome.index());
  if (const auto* refused = std::get_if<Unsupported>(&outcome)) writer.add(refused->reason);
  if (const auto* failed = std::get_if<Failed>(&outcome)) add_failed(writer, *failed);
  if (const auto* done = std::get_if<Done>(&outcome)) {
    for (const std::int64_t size :
         {done->result.num_rows, done->result.num_heads, done->result.head_dim})
      writer.add(size);
    writer.add(done->result.out);
    writer.add(done->result.lse_ln);
  }
  return writer.bytes();
}

CallOutcome outcome_in(const std::string& bytes) {
  Reader reader(bytes);
  std::size_t index = 0;
  reader.take(index);
  if (index == 1) return take_failed(reader);
  if (index == 0) {
    Unsupported refused;
    reader.take(refused.reason);
    return refused;
  }
  Done done;
  reader.take(done.result.num_rows);
  reader.take(done.result.num_heads);
  reader.take(done.result.head_dim);
  reader.take(done.result.out);
  reader.take(done.result.lse_ln);
  return done;
}

std::string bytes_of(const LawVerdict& verdict, const std::string& note) {
  Writer writer;
  writer.add(note);
  writer.add(verdict.comparison);
  writer.add(verdict.what);
  writer.add(verdict.skipped);
  writer.add(verdict.skipped_parts.size());
  for (const std::string& part : verdict.skipped_parts) writer.add(part);
  writer.add(verdict.found);
  writer.add(verdict.printed);
  writer.add(verdict.call_failure.has_value());
  if (verdict.call_failure) add_failed(writer, *verdict.call_failure);
  return writer.bytes();
}

LawVerdict verdict_in(const std::string& bytes, std::string& note) {
  Reader reader(bytes);
  LawVerdict verdict;
  reader.take(note);
  reader.take(verdict.comparison);
  reader.take(verdict.what);
  reader.take(verdict.skipped);
  std::size_t num_parts = 0;
  reader.take(num_parts);
  verdict.skipped_parts.resize(num_parts);
  for (std::string& part : verdict.skipped_parts) reader.take(part);
  reader.take(verdict.found);
  reader.take(verdict.printed);
  bool has_failed = false;
  reader.take(has_failed);
  if (has_failed) verdict.call_failure = take_failed(reader);
  return verdict;
}

// Memory that both processes see, as a file.
class SharedFile {
 public:
  SharedFile() : file_(memfd_create("recto-call", MFD_CLOEXEC)) { RECTO_CHECK_GE(file_, 0); }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile() { close(file_); }

  int number() const { return file_; }
  bool write_all(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = write(file_, bytes.data(), bytes.size());
      if (written <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }
  // Empty, too, if it cannot be read.
  std::string read_first(std::size_t most) const {
    const off_t size = lseek(file_, 0, SEEK_END);
    std::string bytes(std::min(most, static_cast<std::size_t>(std::max<off_t>(0, size))), '\0');
    std::size_t got = 0;
    while (got < bytes.size()) {
      const ssize_t read =
          pread(file_, bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
      if (read <= 0) break;
      got += static_cast<std::size_t>(read);
    }
    bytes.resize(got);
    return bytes;
  }

 private:
  int file_;
};

// In the fork. Whatever `work` has done to it, nothing of this process is cleaned up.
[[noreturn]] void answer_and_end(const std::function<std::string()>& work, const SharedFile& answer,
                                 const SharedFile& printed) {
  dup2(printed.number(), STDOUT_FILENO);
  dup2(printed.number(), STDERR_FILENO);
  const bool is_written = answer.write_all(work());
  fflush(nullptr);
  _exit(is_written ? 0 : 1);
}

// In the fork.
void set_limits(const ForkLimits& limits) {
  rlimit cpu = {};
  getrlimit(RLIMIT_CPU, &cpu);
  cpu.rlim_cur = std::min<rlim_t>(limits.cpu_s, cpu.rlim_cur);
  setrlimit(RLIMIT_CPU, &cpu);
  alarm(limits.clock_s);
}

Failed ended_by(int signal, const ForkLimits& limits, const std::string& printed) {
  if (signal == SIGXCPU)
    return {kTimeOut, fmt::format("took more than {} s of CPU time{}", limits.cpu_s, printed)};
  if (signal == SIGALRM)
    return {kTimeOut, fmt::format("took more than {} s{}", limits.clock_s, printed), true};
  const std::string name = signal_name(signal);
  return {name, fmt::format("was ended by {}{}", name, printed)};
}

// The bytes that `work` returned in a fork, or how it ended that.
std::variant<std::string, Failed> bytes_from_fork(const std::function<std::string()>& work,
                                                  const ForkLimits& limits) {
  const SharedFile answer;
  const SharedFile printed;
  // Otherwise both processes would write what is buffered.
  fflush(nullptr);
  const pid_t process = fork();
  if (process < 0) return Failed{"no process", fmt::format("no process: {}", strerror(errno))};
  if (process == 0) {
    set_limits(limits);
    answer_and_end(work, answer, printed);
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return answer.read_first(SIZE_MAX);
  const std::string text = printed_text(printed.read_first(kPrintedMax));
  const std::string after = text.empty() ? "" : "\n" + text;
  if (WIFSIGNALED(status)) return ended_by(WTERMSIG(status), limits, after);
  return Failed{"exit",
                fmt::format("ended its process, with exit code {}{}", WEXITSTATUS(status), after)};
}

}  // namespace

std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

Backend in_own_process(Backend backend, ForkLimits limits) {
  if (!backend.attend) return backend;
  backend.attend = [attend = std::move(backend.attend), limits](
                       const PagedAttentionInputs& inputs,
                       const CallOptions& options) -> CallOutcome {
    auto answer = bytes_from_fork(
        [&] { return bytes_of(guarded([&] { return attend(inputs, options); })); }, limits);
    if (auto* failed = std::get_if<Failed>(&answer)) return std::move(*failed);
    return outcome_in(std::get<std::string>(answer));
  };
  return backend;
}

Law in_own_process(Law law, ForkNotes notes, ForkLimits limits) {
  law.check = [plain = law, notes = std::move(notes), limits](
                  const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
    LawVerdict verdict;
    const auto checked = [&] {
      const LawVerdict own = guarded_check(plain, backend, law_case, bound_kind);
      return bytes_of(own, notes.write ? notes.write(backend) : "");
    };
    auto answer = bytes_from_fork(checked, limits);
    if (auto* failed = std::get_if<Failed>(&answer)) {
      verdict.call_failure = std::move(*failed);
      return verdict;
    }
    std::string note;
    verdict = verdict_in(std::get<std::string>(answer), note);
    if (notes.read) notes.read(backend, note);
    return verdict;
  };
  return law;
}

}  // namespace recto::verify
