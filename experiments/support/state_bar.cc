#include "experiments/support/state_bar.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace recto::experiments {
namespace {

struct Ink {
  std::string_view name;
  std::string_view block;   // one column wide
  std::string_view ascii;   // one column wide
  std::string_view colour;  // ANSI
};

constexpr Ink kUsed{"used", "█", "#", "\x1b[32m"};
constexpr Ink kReserved{"reserved", "▓", "=", "\x1b[36m"};
constexpr Ink kInternal{"internal", "▒", "-", "\x1b[31m"};
constexpr Ink kCached{"cached", "░", ":", "\x1b[34m"};
constexpr Ink kFree{"free", "·", ".", "\x1b[90m"};
constexpr Ink kOverhead{"overhead", "×", "x", "\x1b[33m"};
constexpr Ink kPoolInks[] = {kUsed, kReserved, kInternal, kCached, kFree, kOverhead};

constexpr Ink kTokenStates{"token states", "█", "#", "\x1b[32m"};
constexpr Ink kReservation{"reservation", "▓", "=", "\x1b[36m"};
constexpr Ink kFragmentation{"internal fragmentation", "▒", "-", "\x1b[31m"};
constexpr Ink kExternal{"external and others", "·", ".", "\x1b[90m"};
constexpr Ink kPaperInks[] = {kTokenStates, kReservation, kFragmentation, kExternal};

constexpr std::string_view kColourOff = "\x1b[0m";

// Columns per share, by largest remainder.
std::vector<std::size_t> split_columns(std::span<const double> shares, std::size_t columns) {
  std::vector<std::size_t> lengths;
  std::vector<double> remainders;
  for (const double share : shares) {
    const double exact = std::max(share, 0.0) * static_cast<double>(columns);
    lengths.push_back(static_cast<std::size_t>(exact));
    remainders.push_back(exact - std::floor(exact));
  }
  std::size_t drawn = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
  while (drawn < columns) {
    const auto largest = std::ranges::max_element(remainders) - remainders.begin();
    ++lengths[static_cast<std::size_t>(largest)];
    remainders[static_cast<std::size_t>(largest)] = -1;
    ++drawn;
  }
  return lengths;
}

std::string paint(const Ink& ink, std::size_t columns, const Terminal& terminal) {
  std::string text;
  if (columns == 0) return text;
  if (terminal.colour == Colour::kAnsi) text += ink.colour;
  for (std::size_t i = 0; i < columns; ++i) {
    text += terminal.charset == Charset::kUtf8 ? ink.block : ink.ascii;
  }
  if (terminal.colour == Colour::kAnsi) text += kColourOff;
  return text;
}

std::string draw(std::span<const Ink> inks, std::span<const double> shares, std::size_t columns,
                 const Terminal& terminal) {
  // A run that admitted nothing has no means.
  if (std::accumulate(shares.begin(), shares.end(), 0.0) == 0) return std::string(columns, ' ');
  const std::vector<std::size_t> lengths = split_columns(shares, columns);
  std::string bar;
  for (std::size_t i = 0; i < inks.size(); ++i) bar += paint(inks[i], lengths[i], terminal);
  return bar;
}

std::string legend(std::span<const Ink> inks, const Terminal& terminal) {
  std::string text;
  for (const Ink& ink : inks) {
    if (!text.empty()) text += "   ";
    text += paint(ink, 2, terminal) + ' ' + std::string(ink.name);
  }
  return text;
}

}  // namespace

std::string state_bar(const PoolShares& shares, std::size_t columns, const Terminal& terminal) {
  const double values[] = {shares.used,   shares.reserved, shares.internal(),
                           shares.cached, shares.free,     shares.overhead};
  return draw(kPoolInks, values, columns, terminal);
}

std::string state_bar(const PaperShares& shares, std::size_t columns, const Terminal& terminal) {
  const double values[] = {shares.token_states, shares.reservation, shares.internal_fragmentation,
                           shares.external_and_others};
  return draw(kPaperInks, values, columns, terminal);
}

std::string state_legend(const Terminal& terminal) { return legend(kPoolInks, terminal); }
std::string paper_legend(const Terminal& terminal) { return legend(kPaperInks, terminal); }

}  // namespace recto::experiments
