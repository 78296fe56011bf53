// vprintf and __assertfail.

#include <bit>
#include <cstdio>
#include <cstring>

#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {
namespace {

constexpr std::size_t kStringBytesMax = 4096;

bool is_int(const std::string& spec) {
  return std::strchr("diouxXc", spec.back()) != nullptr && spec.find('l') == std::string::npos;
}

// One conversion, as printf makes it, whose kind is that of its argument.
std::string formatted(const std::string& spec, std::uint64_t bits) {
  char text[256];
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

}  // namespace

// A string in a buffer or a module's variable, as far as it is inside.
std::string ThreadBlock::string_at(std::uint64_t address) const {
  const Buffer* const buffer = run_.memory.find(address);
  if (buffer == nullptr) return "(a string out of bounds)";
  const auto* const text = reinterpret_cast<const char*>(address);
  const std::size_t bytes = std::min<std::size_t>(buffer->end() - address, kStringBytesMax);
  return std::string(text, strnlen(text, bytes));
}

// Arguments stand one after another, each at its own alignment: of 4 bytes for int, else of 8.
bool ThreadBlock::print(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  const auto argument_at = [&](unsigned lane, std::uint64_t offset, void* value,
                               std::size_t bytes) {
    const std::uint64_t base =
        row<std::uint64_t>(warp, detail.uses[1])[lane] & ~(std::uint64_t{0xff} << kWindowShift);
    if (base < kLocalBegin || base + offset + bytes > program_.local_bytes) return false;
    const std::uint64_t thread = warp.number * kWarpSize + lane;
    std::memcpy(value, local_.data() + thread * program_.local_bytes + base + offset, bytes);
    return true;
  };
  for_each_lane_of(lanes, [&](unsigned lane) {
    const std::string format = string_at(row<std::uint64_t>(warp, detail.uses[0])[lane]);
    std::string& out = run_.report_.printed;
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        out += format[i];
        continue;
      }
      const std::size_t end = format.find_first_of("diouxXcsfFeEgGaAp%", i + 1);
      if (end == std::string::npos || end - i > 16) {
        out += format.substr(i);
        break;
      }
      const std::string spec = format.substr(i, end - i + 1);
      const char kind = spec.back();
      i = end;
      if (kind == '%') {
        out += '%';
        continue;
      }
      const std::size_t bytes = is_int(spec) ? 4 : 8;
      offset = (offset + bytes - 1) / bytes * bytes;
      std::uint64_t bits = 0;
      if (spec.find('*') != std::string::npos || !argument_at(lane, offset, &bits, bytes)) {
        out += spec;
        continue;
      }
      offset += bytes;
      out += kind == 's' ? string_at(bits) : formatted(spec, bits);
    }
  });
  return true;
}

void ThreadBlock::fail_assertion(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const auto argument = [&](std::size_t i) {
    return string_at(row<std::uint64_t>(warp, detail.uses[i])[lane]);
  };
  std::string what = "fails assertion '" + argument(0) + "'";
  if (detail.uses.size() > 2) {
    what +=
        " at " + argument(1) + ":" + std::to_string(row<std::uint32_t>(warp, detail.uses[2])[lane]);
  }
  report(Check::kAssertion, warp, lane, step, std::move(what));
}

}  // namespace recto::ptx
