#pragma once

// A PTX module as it is written: declarations and instructions with their operands. Names inside a
// function are resolved to registers, variables and labels; instructions are not interpreted.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/ptx/text/scalar_type.h"
#include "verify/ptx/text/sources.h"

namespace recto::ptx::text {

enum class Space : std::uint8_t { kGlobal, kConst, kShared, kLocal, kParam };

enum class OperandKind : std::uint8_t {
  kRegister,   // index
  kSpecial,    // name: %tid.x, WARP_SZ
  kInteger,    // bits
  kFloat32,    // bits
  kFloat64,    // bits; decimal literals, too
  kVariable,   // index of a variable or parameter of the function, offset
  kLabel,      // index of the instruction that follows it
  kName,       // name of something of the module, offset
  kTable,      // index of a list of branch targets
  kPrototype,  // of a call
  kAddress,    // parts: base, and coordinates if there are any; offset
  kVector,     // parts: {a, b}
  kPair,       // parts: a|b
  kList,       // parts: (a, b)
  kSink,       // _
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool is_negated = false;  // !a
  std::uint32_t index = 0;
  std::uint32_t scope = 0;  // where it stands, until labels are resolved
  std::int64_t offset = 0;
  std::uint64_t bits = 0;
  std::string name = {};
  std::vector<Operand> parts = {};
};

struct Guard {
  std::uint32_t reg = 0;
  bool is_negated = false;
};

struct Instruction {
  Place place = {};
  std::optional<Guard> guard = {};
  std::string opcode = {};                  // "ld"
  std::vector<std::string> modifiers = {};  // "global", "v4", "f32"
  std::vector<Operand> operands = {};

  std::string text() const;  // "ld.global.v4.f32"
};

// A piece of a variable's initial value: a number, or the address of `symbol` plus the number.
struct InitialValue {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint64_t bits = 0;
  std::string symbol = {};
  bool is_generic = false;
};

struct Variable {
  std::string name = {};
  Space space = Space::kGlobal;
  ScalarType type = ScalarType::kB8;
  std::uint32_t alignment = 1;
  std::uint64_t bytes = 0;
  bool is_extern = false;
  bool is_array = false;
  std::vector<InitialValue> initial = {};
  std::uint32_t line = 0;
};

struct Register {
  std::string name = {};
  ScalarType type = ScalarType::kB32;
};

struct BranchTargets {
  std::vector<Operand> labels = {};
};

struct Function {
  std::string name = {};
  std::uint32_t line = 0;
  bool is_entry = false;
  bool is_defined = false;
  std::uint32_t threads_max = 0;              // .maxntid or .reqntid; 0: not given
  std::array<std::uint32_t, 3> threads = {};  // .reqntid; 0: not given
  std::array<std::uint32_t, 3> cluster = {};  // .reqnctapercluster; 0: not given
  // Variables that begin the list: results, then parameters.
  std::uint32_t num_results = 0;
  std::uint32_t num_parameters = 0;
  std::vector<Variable> variables = {};
  std::vector<Register> registers = {};  // those that instructions name
  std::vector<BranchTargets> tables = {};
  std::vector<Instruction> instructions = {};
};

struct Module {
  std::uint32_t version_major = 0;
  std::uint32_t version_minor = 0;
  std::string target = {};  // "sm_80"
  Sources sources = {};
  std::vector<Variable> variables = {};
  std::vector<Function> functions = {};  // the definition of a name replaces its declaration
};

}  // namespace recto::ptx::text
