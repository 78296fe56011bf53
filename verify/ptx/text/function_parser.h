#pragma once

// Parses a function's body, and resolves its names as it goes.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "verify/ptx/text/syntax_tree.h"
#include "verify/ptx/text/token_reader.h"

namespace recto::ptx::text {

class FunctionParser {
 public:
  // `call_sites` is Sources::call_sites of the module, to which those of the function are added.
  FunctionParser(TokenReader& tokens, Function& function, std::vector<CallSite>& call_sites);

  // From behind '{' to behind '}'. False after an error.
  bool read_body();

 private:
  // .reg .b32 %r<9>: a register is entered into the function where it is first named.
  struct Range {
    std::string prefix;
    std::uint64_t count = 0;
    ScalarType type = ScalarType::kB32;
  };
  struct Scope {
    std::uint32_t parent = 0;
    std::vector<Range> ranges = {};
    std::unordered_map<std::string, std::uint32_t> registers = {};
    std::unordered_map<std::string, std::uint32_t> variables = {};
    std::unordered_map<std::string, std::uint32_t> labels = {};  // to the next instruction
    std::unordered_map<std::string, std::uint32_t> tables = {};
    std::unordered_map<std::string, std::uint32_t> prototypes = {};
  };

  bool read_statement();
  bool read_directive();
  bool read_registers();
  bool read_location();
  bool read_call_site(std::uint32_t* site);
  bool read_label(const std::string& name);
  bool read_targets(const std::string& name);
  bool read_instruction(std::string opcode);
  bool read_operands(Instruction* instruction);
  bool read_operand(Operand* operand, unsigned depth);
  bool read_simple_operand(Operand* operand, unsigned depth);
  bool read_word(Operand* operand);
  bool read_number(Operand* operand);
  bool read_address(Operand* operand, unsigned depth);
  bool read_list(char end, Operand* operand, unsigned depth);

  bool resolve(const std::string& name, Operand* operand);
  bool find_in_range(const Scope& scope, const std::string& name, std::uint32_t* index);
  void resolve_labels(Operand& operand) const;

  TokenReader& tokens_;
  Function& function_;
  std::vector<CallSite>& call_sites_;
  std::map<std::array<std::uint64_t, 3>, std::uint32_t> known_sites_;  // by file, line, column
  Place place_;
  std::vector<Scope> scopes_;
  std::uint32_t scope_ = 0;  // the current one; the function's is 0
  unsigned depth_ = 1;
};

}  // namespace recto::ptx::text
