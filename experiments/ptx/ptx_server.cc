#include "experiments/ptx/ptx_server.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "experiments/ptx/ptx_request.h"
#include "verify/ptx/launch.h"
#include "verify/ptx/readable_names.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kReadBytes = 65536;

std::optional<ptx::BufferAccess> access_named(std::string_view name) {
  if (name == "read-only") return ptx::BufferAccess::kReadOnly;
  if (name == "read-write") return ptx::BufferAccess::kReadWrite;
  if (name == "write-first") return ptx::BufferAccess::kWriteFirst;
  return std::nullopt;
}

std::optional<ptx::SchedulePolicy> policy_named(std::string_view name) {
  for (const ptx::SchedulePolicy policy : simt::kSchedulePolicies) {
    if (simt::schedule_policy_name(policy) == name) return policy;
  }
  return std::nullopt;
}

bool* check_named(ptx::Checks& checks, std::string_view name) {
  if (name == "races") return &checks.races;
  if (name == "uninitialised-memory") return &checks.uninitialised_memory;
  if (name == "undefined-registers") return &checks.undefined_registers;
  return nullptr;
}

std::optional<std::vector<std::byte>> bytes_of_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  if (text.size() % 2 != 0) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned byte = 0;
    for (const char c : text.substr(i, 2)) {
      const std::size_t digit = std::string_view("0123456789abcdef").find(c);
      if (digit == std::string_view::npos) return std::nullopt;
      byte = byte * 16 + static_cast<unsigned>(digit);
    }
    bytes.push_back(static_cast<std::byte>(byte));
  }
  return bytes;
}

Json counters_json(const ptx::Counters& counters) {
  Json by_kind = Json::object();
  for (std::size_t i = 0; i < counters.by_action.size(); ++i) {
    if (counters.by_action[i] > 0)
      by_kind[ptx::action_name(static_cast<ptx::Action>(i))] = counters.by_action[i];
  }
  return {{"instructions", counters.instructions},
          {"by_kind", by_kind},
          {"global_bytes", counters.global_bytes},
          {"global_sectors", counters.global_sectors},
          {"bank_conflicts", counters.bank_conflicts}};
}

class Server {
 public:
  explicit Server(int memory) : file_(memory) {}

  Result<Json> answer(const Json& request) {
    if (const Json* bytes = request.find("load"); bytes != nullptr && bytes->is_number_unsigned()) {
      return load(bytes->get<std::uint64_t>());
    }
    if (const Json* launch = request.find("launch")) return run(*launch);
    return Status::invalid_input("request: expected load or launch");
  }

 private:
  struct LoadedKernel {
    std::string name;
    ptx::Kernel kernel;
  };
  struct LoadedModule {
    ptx::Module module;
    std::vector<LoadedKernel> kernels = {};  // those that were launched
  };

  Result<Json> load(std::uint64_t bytes) {
    RECTO_RETURN_IF_ERROR(file_.map(bytes));
    Result<ptx::Module> parsed =
        ptx::Module::parse({reinterpret_cast<const char*>(file_.data()), bytes});
    RECTO_RETURN_IF_ERROR(parsed.status());
    Json kernels = Json::array();
    for (const std::string& name : parsed.value().kernel_names()) {
      Json parameters = Json::array();
      for (const ptx::Parameter& parameter : parsed.value().parameters(name)) {
        parameters.push_back(
            {{"name", parameter.name}, {"type", parameter.type}, {"bytes", parameter.bytes}});
      }
      kernels.push_back({{"name", name}, {"parameters", parameters}});
    }
    modules_.push_back({std::move(parsed).value()});
    return Json{{"module", modules_.size() - 1}, {"kernels", kernels}};
  }

  Result<const ptx::Kernel*> kernel(std::uint64_t module, const std::string& name) {
    if (module >= modules_.size()) return Status::invalid_input("module: expected a loaded one");
    LoadedModule& loaded = modules_[module];
    for (const LoadedKernel& known : loaded.kernels) {
      if (known.name == name) return &known.kernel;
    }
    Result<ptx::Kernel> decoded = loaded.module.kernel(name);
    RECTO_RETURN_IF_ERROR(decoded.status());
    loaded.kernels.push_back({name, std::move(decoded).value()});
    return &loaded.kernels.back().kernel;
  }

  Result<ptx::DeviceMemory> memory_of(const std::vector<Json>& buffers) const {
    ptx::DeviceMemory memory;
    for (const Json& json : buffers) {
      Request buffer(json);
      const std::uint64_t begin = buffer.number("begin");
      const std::uint64_t bytes = buffer.number("bytes");
      const auto access = access_named(buffer.text("access"));
      const std::string name = buffer.text("name");
      RECTO_RETURN_IF_ERROR(buffer.status().in("buffers"));
      if (!access || begin > file_.bytes() || bytes > file_.bytes() - begin) {
        return Status::invalid_input("buffers: expected a place in the file, and its access");
      }
      memory.add(name, file_.data() + begin, bytes, *access);
    }
    return memory;
  }

  // An address in the file, or bytes; nothing if it is neither.
  std::vector<std::byte> piece_of(const Json& json) const {
    Request piece(json);
    if (!json.contains("begin")) {
      return bytes_of_hex(piece.text("hex")).value_or(std::vector<std::byte>());
    }
    const auto address = reinterpret_cast<std::uintptr_t>(file_.data()) + piece.number("begin");
    std::vector<std::byte> bytes(sizeof(address));
    std::memcpy(bytes.data(), &address, sizeof(address));
    return bytes;
  }

  // As many bytes as the parameters have, in their places.
  Result<std::vector<std::byte>> arguments_of(const ptx::Program& program,
                                              const std::vector<Json>& arguments) const {
    if (arguments.size() != program.parameters.size()) {
      return Status::invalid_input(fmt::format("arguments: expected {}, got {}",
                                               program.parameters.size(), arguments.size()));
    }
    std::vector<std::byte> bytes(program.parameter_bytes);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].is_array()) return Status::invalid_input("arguments: expected lists");
      std::vector<std::byte> own;
      for (const Json& json : arguments[i]) {
        const std::vector<std::byte> piece = piece_of(json);
        own.insert(own.end(), piece.begin(), piece.end());
      }
      if (own.size() != program.parameters[i].bytes) {
        return Status::invalid_input(fmt::format("argument {}: expected {} bytes, got {}", i,
                                                 program.parameters[i].bytes, own.size()));
      }
      std::ranges::copy(own,
                        bytes.begin() + static_cast<std::ptrdiff_t>(program.parameters[i].begin));
    }
    return bytes;
  }

  Result<Json> run(const Json& json) {
    Request request(json);
    const ptx::LaunchShape shape = {request.dim("grid"), request.dim("block"),
                                    request.number("shared"), request.dim("cluster")};
    const auto policy = policy_named(request.text("policy"));
    if (!policy) request.fail("policy", "the name of one");
    ptx::LaunchOptions options;
    for (const Json& check : request.list("checks")) {
      bool* const on =
          check.is_string() ? check_named(options.checks, check.get<std::string>()) : nullptr;
      if (on == nullptr) request.fail("checks", "names of checks");
      if (on != nullptr) *on = true;
    }
    options.is_cooperative = request.truth("is_cooperative");
    options.allows_equal_stores = request.truth("equal_stores");
    options.counts = request.truth("counts");
    if (request.truth("is_perturbed")) {
      options.approximation = ptx::Approximation::kPerturbed;
      options.approximation_seed = static_cast<std::uint32_t>(request.number("seed"));
    }
    options.schedule = {.policy = policy.value_or(ptx::SchedulePolicy::kInOrder),
                        .seed = request.number("seed")};
    const std::vector<Json> buffers = request.list("buffers");
    const std::vector<Json> arguments = request.list("arguments");
    const std::uint64_t file_bytes = request.number("file_bytes");
    const std::uint64_t module = request.number("module");
    const std::string name = request.text("kernel");
    RECTO_RETURN_IF_ERROR(request.status());
    RECTO_RETURN_IF_ERROR(file_.map(file_bytes));
    const Result<const ptx::Kernel*> found = kernel(module, name);
    RECTO_RETURN_IF_ERROR(found.status());
    const Result<ptx::DeviceMemory> memory = memory_of(buffers);
    RECTO_RETURN_IF_ERROR(memory.status());
    Result<std::vector<std::byte>> bytes = arguments_of(found.value()->program(), arguments);
    RECTO_RETURN_IF_ERROR(bytes.status());
    const ptx::LaunchReport report = launch(
        *found.value(), shape, ptx::Arguments(std::move(bytes).value()), memory.value(), options);
    Json findings = Json::array();
    for (const ptx::Finding& finding : report.findings)
      findings.push_back(ptx::readable_names(finding.text()));
    return Json{{"findings", findings},
                {"printed", report.printed},
                {"counters", counters_json(report.counters)}};
  }

  SharedFile file_;
  std::vector<LoadedModule> modules_;
};

// Nothing at the end of the stream.
std::optional<std::string> read_line(int socket, std::string& left) {
  std::string buffer(kReadBytes, '\0');
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = left.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = left.substr(0, end);
      left.erase(0, end + 1);
      return line;
    }
    searched = left.size();
    const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    left.append(buffer, 0, static_cast<std::size_t>(got));
  }
}

bool write_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

Status serve_ptx(const PtxServerFiles& files) {
  Server server(files.memory);
  std::string left;
  while (const std::optional<std::string> line = read_line(files.socket, left)) {
    const Result<Json> request = parse_json(*line);
    const Result<Json> answer =
        request.is_ok() ? server.answer(request.value()) : Result<Json>(request.status());
    const Json reply = answer.is_ok() ? answer.value() : Json{{"error", answer.status().message()}};
    if (!write_all(files.socket, json_text(reply) + "\n")) break;
  }
  return Status::ok();
}

}  // namespace recto::experiments
