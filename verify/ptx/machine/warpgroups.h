#pragma once

// Asynchronous products of warpgroups (wgmma). Each warp computes its rows at once; that its
// registers must not be touched before the product is waited for is checked.

#include <cstdint>
#include <optional>
#include <vector>

#include "verify/ptx/machine/block_memory.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

class Warpgroups {
 public:
  explicit Warpgroups(BlockMemory& memory) : memory_(memory) {}

  void begin(std::uint32_t warps);

  // All lanes of a warp execute these. False if the kernel cannot go on.
  bool fence(const WarpStep& at);
  bool multiply(const WarpStep& at, const Detail& detail);
  bool commit(const WarpStep& at);
  bool wait(const WarpStep& at, const Detail& detail);

  // Before a step of which the program says that it may touch registers of products. False after a
  // finding.
  bool check_registers(const Warp& warp, const Step& step);
  // Reports a product that the warp, whose lanes exit, has not waited for.
  void exit(const WarpStep& at);
  // Once no warp runs any more: warps whose warpgroup has executed more than they.
  void check_ends(const Step& last);

 private:
  struct Product {
    std::uint32_t step = 0;
    std::uint32_t group = 0;
  };
  struct WarpState {
    std::vector<Product> pending = {};
    // Products whose registers have been touched since the last fence.
    std::vector<std::uint32_t> unfenced = {};
    std::uint32_t committed = 0;
    std::uint32_t stream = 0;
    std::uint32_t executed = 0;  // instructions of the warpgroup
    bool has_fenced = false;
  };
  // What the warpgroup's first warp did at each instruction, as far as not all have come there.
  struct Record {
    std::uint32_t step = 0;
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    bool operator==(const Record&) const = default;
  };
  struct GroupState {
    std::vector<Record> records = {};
    std::uint32_t first = 0;  // the number of records[0]
  };

  std::uint32_t index_of(const Step& step) const;
  bool report(const WarpStep& at, Check check, std::string what);
  bool follow(const WarpStep& at, std::uint64_t a, std::uint64_t b);
  bool may_multiply(const WarpStep& at, const Detail& detail);
  // Which pieces of a factor in shared memory are read, of lines that have `line_pieces`.
  struct Factor {
    std::uint64_t descriptor = 0;
    Major major = Major::kK;
    std::uint32_t line_pieces = 0;
    std::uint32_t first_line = 0;
    std::uint32_t num_lines = 0;
    std::uint32_t first_piece = 0;
    std::uint32_t num_pieces = 0;
  };
  static Factor all_of(Major major, int depth, std::uint32_t width, std::uint64_t descriptor);
  static Factor part_of_a(const WarpStep& at, const Detail& detail, std::uint64_t descriptor);
  bool collect(const WarpStep& at, const Factor& factor, std::uint32_t operation,
               std::byte* pieces);
  void compute(const WarpStep& at, const Detail& detail, const std::byte* a, const std::byte* b);

  BlockMemory& memory_;
  std::vector<WarpState> warps_;
  std::vector<GroupState> groups_;
};

}  // namespace recto::ptx
