#include "verify/ptx/text/function_parser.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace recto::ptx::text {
namespace {

constexpr unsigned kNestingMax = 32;
constexpr std::uint64_t kRegistersMax = std::uint64_t{1} << 20;

}  // namespace

FunctionParser::FunctionParser(TokenReader& tokens, Function& function,
                               std::vector<CallSite>& call_sites)
    : tokens_(tokens), function_(function), call_sites_(call_sites), scopes_(1) {
  for (std::uint32_t i = 0; i < function.variables.size(); ++i) {
    scopes_[0].variables[function.variables[i].name] = i;
  }
}

bool FunctionParser::read_body() {
  while (depth_ > 0) {
    if (!read_statement()) return false;
  }
  for (Instruction& instruction : function_.instructions) {
    for (Operand& operand : instruction.operands) resolve_labels(operand);
  }
  for (BranchTargets& table : function_.tables) {
    for (Operand& label : table.labels) resolve_labels(label);
  }
  return true;
}

bool FunctionParser::read_statement() {
  if (tokens_.take('{')) {
    if (++depth_ > kNestingMax) return tokens_.fail(tokens_.line(), "scopes nest too deeply");
    scopes_.push_back({scope_});
    scope_ = static_cast<std::uint32_t>(scopes_.size() - 1);
    return true;
  }
  if (tokens_.take('}')) {
    --depth_;
    scope_ = scopes_[scope_].parent;
    return true;
  }
  if (tokens_.take(';')) return true;
  if (tokens_.now().kind == TokenKind::kDotted) return read_directive();
  if (tokens_.now().is('@')) return read_instruction({});
  if (tokens_.now().kind != TokenKind::kWord) return tokens_.fail_expecting("an instruction");
  place_.ptx_line = tokens_.line();
  std::string word = tokens_.take_text();
  if (tokens_.take(':')) return read_label(word);
  return read_instruction(std::move(word));
}

bool FunctionParser::read_directive() {
  static constexpr std::pair<std::string_view, Space> kSpaces[] = {{"shared", Space::kShared},
                                                                   {"local", Space::kLocal},
                                                                   {"param", Space::kParam},
                                                                   {"global", Space::kGlobal},
                                                                   {"const", Space::kConst}};
  if (tokens_.take_dotted("reg")) return read_registers();
  if (tokens_.take_dotted("loc")) return read_location();
  if (tokens_.take_dotted("pragma")) {
    tokens_.advance();
    return tokens_.expect(';');
  }
  for (const auto& [name, space] : kSpaces) {
    if (!tokens_.take_dotted(name)) continue;
    do {
      Variable variable;
      if (!tokens_.read_variable(space, &variable)) return false;
      auto& known = scopes_[scope_].variables;
      if (!known.emplace(variable.name, function_.variables.size()).second) {
        return tokens_.fail(variable.line, "'" + variable.name + "' is declared twice");
      }
      function_.variables.push_back(std::move(variable));
    } while (tokens_.take(','));
    return tokens_.expect(';');
  }
  return tokens_.fail_expecting("a directive that a function may contain");
}

bool FunctionParser::read_registers() {
  const std::optional<ScalarType> type = scalar_type(tokens_.now().text);
  if (tokens_.now().kind != TokenKind::kDotted || !type) {
    return tokens_.fail_expecting("a register's type");
  }
  tokens_.advance();
  do {
    Range range{{}, 1, *type};
    if (!tokens_.read_name(&range.prefix)) return false;
    Scope& scope = scopes_[scope_];
    if (tokens_.take('<')) {
      if (!tokens_.read_unsigned(kRegistersMax, &range.count) || !tokens_.expect('>')) return false;
      scope.ranges.push_back(std::move(range));
    } else {
      scope.registers[range.prefix] = static_cast<std::uint32_t>(function_.registers.size());
      function_.registers.push_back({range.prefix, *type});
    }
  } while (tokens_.take(','));
  return tokens_.expect(';');
}

// file line column
bool FunctionParser::read_call_site(std::uint32_t* site) {
  std::array<std::uint64_t, 3> at = {};
  if (!tokens_.read_unsigned(1 << 20, &at[0]) || !tokens_.read_unsigned(UINT32_MAX, &at[1]) ||
      !tokens_.read_unsigned(UINT32_MAX, &at[2])) {
    return false;
  }
  const auto next = static_cast<std::uint32_t>(call_sites_.size());
  const auto [known, is_new] = known_sites_.emplace(at, next);
  if (is_new) {
    call_sites_.push_back(
        {static_cast<std::uint32_t>(at[0]), static_cast<std::uint32_t>(at[1]), {}});
  }
  *site = known->second;
  return true;
}

// .loc file line column [, function_name label [+ offset], inlined_at file line column]
// The .loc of a call comes before those of what was inlined there.
bool FunctionParser::read_location() {
  std::uint32_t site = 0;
  if (!read_call_site(&site)) return false;
  place_.file = call_sites_[site].file;
  place_.line = call_sites_[site].line;
  place_.inlined_at = 0;
  if (tokens_.take(',')) {
    std::string word;
    std::uint64_t offset = 0;
    if (!tokens_.read_name(&word) || !tokens_.read_name(&word)) return false;
    if (tokens_.take('+') && !tokens_.read_unsigned(UINT32_MAX, &offset)) return false;
    if (!tokens_.expect(',') || !tokens_.read_name(&word)) return false;
    if (!read_call_site(&place_.inlined_at)) return false;
  }
  std::vector<std::uint32_t>& callers = call_sites_[site].inlined_at;
  const bool is_known = std::ranges::find(callers, place_.inlined_at) != callers.end();
  if (!is_known && callers.size() < CallSite::kCallersMax) callers.push_back(place_.inlined_at);
  return true;
}

bool FunctionParser::read_label(const std::string& name) {
  if (tokens_.take_dotted("branchtargets")) return read_targets(name);
  if (tokens_.take_dotted("callprototype") || tokens_.take_dotted("calltargets")) {
    scopes_[scope_].prototypes[name] = 0;
    while (!tokens_.now().is(';')) {
      if (tokens_.now().kind == TokenKind::kEnd || tokens_.now().kind == TokenKind::kBad) {
        return tokens_.fail_expecting("';'");
      }
      tokens_.advance();
    }
    return tokens_.expect(';');
  }
  const auto next = static_cast<std::uint32_t>(function_.instructions.size());
  if (!scopes_[scope_].labels.emplace(name, next).second) {
    return tokens_.fail(tokens_.line(), "label '" + name + "' is defined twice");
  }
  return true;
}

bool FunctionParser::read_targets(const std::string& name) {
  BranchTargets table;
  do {
    Operand label{OperandKind::kName};
    label.scope = scope_;
    if (!tokens_.read_name(&label.name)) return false;
    table.labels.push_back(std::move(label));
  } while (tokens_.take(','));
  scopes_[scope_].tables[name] = static_cast<std::uint32_t>(function_.tables.size());
  function_.tables.push_back(std::move(table));
  return tokens_.expect(';');
}

bool FunctionParser::read_instruction(std::string opcode) {
  Instruction instruction;
  place_.ptx_line = tokens_.line();
  if (tokens_.take('@')) {
    Guard guard;
    guard.is_negated = tokens_.take('!');
    Operand reg;
    std::string name;
    if (!tokens_.read_name(&name) || !resolve(name, &reg)) return false;
    if (reg.kind != OperandKind::kRegister ||
        function_.registers[reg.index].type != ScalarType::kPred) {
      return tokens_.fail(tokens_.line(), "'" + name + "' is no predicate register");
    }
    guard.reg = reg.index;
    instruction.guard = guard;
    if (!tokens_.read_name(&opcode)) return false;
  }
  instruction.place = place_;
  instruction.opcode = std::move(opcode);
  while (tokens_.now().kind == TokenKind::kDotted && !tokens_.now().follows_space) {
    instruction.modifiers.push_back(tokens_.take_text());
  }
  if (!read_operands(&instruction)) return false;
  function_.instructions.push_back(std::move(instruction));
  return true;
}

bool FunctionParser::find_in_range(const Scope& scope, const std::string& name,
                                   std::uint32_t* index) {
  for (const Range& range : scope.ranges) {
    if (name.compare(0, range.prefix.size(), range.prefix) != 0) continue;
    const char* first = name.data() + range.prefix.size();
    const char* last = name.data() + name.size();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(first, last, number);
    if (first == last || error != std::errc() || end != last || number >= range.count) continue;
    *index = static_cast<std::uint32_t>(function_.registers.size());
    function_.registers.push_back({name, range.type});
    return true;
  }
  return false;
}

bool FunctionParser::resolve(const std::string& name, Operand* operand) {
  operand->scope = scope_;
  for (std::uint32_t at = scope_;; at = scopes_[at].parent) {
    Scope& scope = scopes_[at];
    if (const auto found = scope.registers.find(name); found != scope.registers.end()) {
      operand->kind = OperandKind::kRegister;
      operand->index = found->second;
      return true;
    }
    if (const auto found = scope.variables.find(name); found != scope.variables.end()) {
      operand->kind = OperandKind::kVariable;
      operand->index = found->second;
      return true;
    }
    if (find_in_range(scope, name, &operand->index)) {
      scope.registers[name] = operand->index;
      operand->kind = OperandKind::kRegister;
      return true;
    }
    if (at == 0) break;
  }
  operand->kind = name[0] == '%' || name == "WARP_SZ" ? OperandKind::kSpecial : OperandKind::kName;
  operand->name = name;
  return true;
}

void FunctionParser::resolve_labels(Operand& operand) const {
  for (Operand& part : operand.parts) resolve_labels(part);
  if (operand.kind != OperandKind::kName) return;
  for (std::uint32_t at = operand.scope;; at = scopes_[at].parent) {
    const Scope& scope = scopes_[at];
    if (const auto found = scope.labels.find(operand.name); found != scope.labels.end()) {
      operand.kind = OperandKind::kLabel;
      operand.index = found->second;
      return;
    }
    if (const auto found = scope.tables.find(operand.name); found != scope.tables.end()) {
      operand.kind = OperandKind::kTable;
      operand.index = found->second;
      return;
    }
    if (scope.prototypes.count(operand.name) != 0) {
      operand.kind = OperandKind::kPrototype;
      return;
    }
    if (at == 0) return;
  }
}

}  // namespace recto::ptx::text
