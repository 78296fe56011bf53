#include "verify/ptx/machine/system_calls.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

namespace recto::ptx {
namespace {

constexpr std::size_t kStringBytesMax = 4096;
// What a conversion may have: flags, width, precision and size; then its kinds.
constexpr const char* kBeforeKind = "-+ #0123456789.*hlzjt";
constexpr const char* kKinds = "diouxXcsfFeEgGaAp";
constexpr std::size_t kConversionBytesMax = 17;

bool is_int(const std::string& spec) {
  return std::strchr("diouxXc", spec.back()) != nullptr &&
         spec.find_first_of("lzjt") == std::string::npos;
}

// One conversion, as printf makes it, whose kind is that of its argument.
std::string formatted(const std::string& spec, std::uint64_t bits) {
  char text[256] = "";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  if (std::strchr("fFeEgGaA", spec.back()) != nullptr) {
    std::snprintf(text, sizeof(text), spec.c_str(), std::bit_cast<double>(bits));
  } else if (is_int(spec)) {
    std::snprintf(text, sizeof(text), spec.c_str(), static_cast<std::uint32_t>(bits));
  } else {
    std::snprintf(text, sizeof(text), spec.c_str(), bits);
  }
#pragma GCC diagnostic pop
  return text;
}

// A string in a buffer or a module's variable, as far as it is inside.
std::string string_at(const LaunchRun& run, std::uint64_t address) {
  const Buffer* const buffer = run.memory.find(address);
  if (buffer == nullptr) return "(a string out of bounds)";
  const auto* const text = reinterpret_cast<const char*>(address);
  const std::size_t bytes = std::min<std::size_t>(buffer->end() - address, kStringBytesMax);
  return std::string(text, strnlen(text, bytes));
}

// The arguments of one lane, one after another, each at its own alignment: of 4 bytes for int, else
// of 8.
class PrintArguments {
 public:
  PrintArguments(const std::byte* local, std::uint64_t base, std::uint64_t end)
      : local_(local), base_(base), end_(end) {}

  std::optional<std::uint64_t> next(std::size_t bytes) {
    offset_ = (offset_ + bytes - 1) / bytes * bytes;
    const std::uint64_t at = base_ + offset_;
    if (base_ < kLocalBegin || at + bytes > end_) return std::nullopt;
    std::uint64_t bits = 0;
    std::memcpy(&bits, local_ + at, bytes);
    offset_ += bytes;
    return bits;
  }

 private:
  const std::byte* local_;
  std::uint64_t base_;
  std::uint64_t end_;
  std::uint64_t offset_ = 0;
};

std::string printed(const LaunchRun& run, const std::string& format, PrintArguments arguments) {
  std::string out;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    const std::size_t end = format.find_first_not_of(kBeforeKind, i + 1);
    if (end == std::string::npos || end - i >= kConversionBytesMax) return out + format.substr(i);
    const std::string spec = format.substr(i, end - i + 1);
    const char kind = spec.back();
    i = end;
    if (kind == '%') {
      out += '%';
      continue;
    }
    // %n would write to the host's memory. What is not known stays as it is.
    const bool is_known =
        std::strchr(kKinds, kind) != nullptr && spec.find('*') == std::string::npos;
    const auto bits = is_known ? arguments.next(is_int(spec) ? 4 : 8) : std::nullopt;
    out += !bits ? spec : kind == 's' ? string_at(run, *bits) : formatted(spec, *bits);
  }
  return out;
}

}  // namespace

void print(BlockMemory& memory, const WarpStep& at, const Detail& detail) {
  constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kWindowShift) - 1;
  LaunchRun& run = memory.run();
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    const std::string format = string_at(run, at.warp.row<std::uint64_t>(detail.uses[0])[lane]);
    const std::uint64_t base = at.warp.row<std::uint64_t>(detail.uses[1])[lane] & kOffsetMask;
    run.outcome.printed +=
        printed(run, format, {memory.local(at.warp.thread(lane)), base, run.program.local_bytes});
  });
}

void fail_assertion(BlockMemory& memory, const WarpStep& at, const Detail& detail) {
  const unsigned lane = at.first_lane();
  const auto argument = [&](std::size_t i) {
    return string_at(memory.run(), at.warp.row<std::uint64_t>(detail.uses[i])[lane]);
  };
  std::string what = "fails assertion '" + argument(0) + "'";
  if (detail.uses.size() > 2) {
    const std::uint32_t line = at.warp.row<std::uint32_t>(detail.uses[2])[lane];
    what += " at " + argument(1) + ":" + std::to_string(line);
  }
  memory.reporter().abandon(Check::kAssertion, at.warp.thread(lane), at.step, std::move(what));
}

}  // namespace recto::ptx
