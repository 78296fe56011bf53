#include "verify/ptx/text/parser.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "verify/ptx/text/function_parser.h"
#include "verify/ptx/text/token_reader.h"

namespace recto::ptx::text {
namespace {

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : tokens_(text) {}

  Result<Module> parse() {
    if (read_header()) {
      while (tokens_.now().kind != TokenKind::kEnd && read_declaration()) {
      }
    }
    if (tokens_.has_failed()) return tokens_.status();
    return std::move(module_);
  }

 private:
  bool read_header() {
    if (!tokens_.take_dotted("version")) return tokens_.fail_expecting("'.version'");
    const std::string version(tokens_.now().text);
    const std::size_t point = version.find('.');
    const auto major = number_of(std::string_view(version).substr(0, point));
    const auto minor = point == std::string::npos
                           ? std::nullopt
                           : number_of(std::string_view(version).substr(point + 1));
    if (!major || !minor || major->bits < 6 || major->bits > 9 || minor->bits > 99) {
      return tokens_.fail_expecting("a PTX version from 6.0 to 9.x");
    }
    module_.version_major = static_cast<std::uint32_t>(major->bits);
    module_.version_minor = static_cast<std::uint32_t>(minor->bits);
    tokens_.advance();
    if (!tokens_.take_dotted("target")) return tokens_.fail_expecting("'.target'");
    if (tokens_.now().text.substr(0, 3) != "sm_")
      return tokens_.fail_expecting("'sm_' and a number");
    module_.target = tokens_.take_text();
    std::string option;
    while (tokens_.take(',')) {
      if (!tokens_.read_name(&option)) return false;
    }
    return true;
  }

  bool read_declaration() {
    if (tokens_.take_dotted("address_size")) {
      std::uint64_t bits = 0;
      const std::uint32_t line = tokens_.line();
      if (!tokens_.read_unsigned(64, &bits)) return false;
      return bits == 64 || tokens_.fail(line, "expected .address_size 64, got another");
    }
    if (tokens_.take_dotted("file")) return read_file();
    if (tokens_.take_dotted("section")) return tokens_.skip_block();
    if (tokens_.take_dotted("pragma")) {
      tokens_.advance();
      return tokens_.expect(';');
    }
    if (tokens_.take(';')) return true;
    bool is_extern = false;
    for (;;) {
      if (tokens_.take_dotted("extern")) {
        is_extern = true;
      } else if (!tokens_.take_dotted("visible") && !tokens_.take_dotted("weak") &&
                 !tokens_.take_dotted("common")) {
        break;
      }
    }
    if (tokens_.take_dotted("entry")) return read_function({.is_entry = true});
    if (tokens_.take_dotted("func")) return read_function({.is_entry = false});
    return read_variables(is_extern);
  }

  bool read_file() {
    std::uint64_t index = 0;
    std::uint64_t fact = 0;
    if (!tokens_.read_unsigned(1 << 16, &index)) return false;
    if (tokens_.now().kind != TokenKind::kString) return tokens_.fail_expecting("a file's name");
    std::vector<std::string>& files = module_.sources.files;
    if (files.size() <= index) files.resize(index + 1);
    files[index] = tokens_.take_text();
    while (tokens_.take(',')) {  // time and size
      if (!tokens_.read_unsigned(UINT64_MAX, &fact)) return false;
    }
    return true;
  }

  bool read_variables(bool is_extern) {
    static constexpr std::pair<std::string_view, Space> kSpaces[] = {
        {"shared", Space::kShared}, {"global", Space::kGlobal}, {"const", Space::kConst}};
    for (const auto& [name, space] : kSpaces) {
      if (!tokens_.take_dotted(name)) continue;
      do {
        Variable variable;
        variable.is_extern = is_extern;
        if (!tokens_.read_variable(space, &variable)) return false;
        module_.variables.push_back(std::move(variable));
      } while (tokens_.take(','));
      return tokens_.expect(';');
    }
    return tokens_.fail_expecting("a declaration");
  }

  // ( .param ... , .param ... )
  bool read_parameters(Function* function, std::uint32_t* count) {
    if (!tokens_.take('(')) return true;
    while (!tokens_.take(')')) {
      if (!tokens_.take_dotted("param")) return tokens_.fail_expecting("'.param'");
      Variable variable;
      if (!tokens_.read_variable(Space::kParam, &variable)) return false;
      function->variables.push_back(std::move(variable));
      ++*count;
      if (!tokens_.now().is(')') && !tokens_.expect(',')) return false;
    }
    return true;
  }

  // .maxntid 128, 1, 1 and others; all but the numbers of threads and thread blocks are hints.
  bool read_performance(Function* function) {
    while (tokens_.now().kind == TokenKind::kDotted) {
      const std::string directive = tokens_.take_text();
      std::vector<std::uint32_t> values;
      std::uint64_t product = 1;
      while (tokens_.now().kind == TokenKind::kNumber) {
        std::uint64_t value = 0;
        if (!tokens_.read_unsigned(UINT32_MAX, &value)) return false;
        values.push_back(static_cast<std::uint32_t>(value));
        product = product > UINT32_MAX ? product : product * value;
        if (!tokens_.take(',')) break;
      }
      if (directive == "maxntid" || directive == "reqntid") {
        if (product > UINT32_MAX) return tokens_.fail(tokens_.line(), "too many threads");
        function->threads_max = static_cast<std::uint32_t>(product);
      }
      if (directive == "reqntid" || directive == "reqnctapercluster") {
        if (product == 0 || product > UINT32_MAX || values.empty() || values.size() > 3) {
          return tokens_.fail(tokens_.line(), "expected 1 to 3 positive numbers");
        }
        auto& required = directive == "reqntid" ? function->threads : function->cluster;
        required = {1, 1, 1};
        std::copy(values.begin(), values.end(), required.begin());
      }
      if (directive == "pragma") {
        tokens_.advance();
        if (!tokens_.expect(';')) return false;
      }
    }
    return true;
  }

  bool read_function(Function function) {
    function.line = tokens_.line();
    if (!function.is_entry && !read_parameters(&function, &function.num_results)) return false;
    if (!tokens_.read_name(&function.name)) return false;
    if (!read_parameters(&function, &function.num_parameters)) return false;
    if (!read_performance(&function)) return false;
    if (!tokens_.take(';')) {
      if (!tokens_.expect('{')) return false;
      function.is_defined = true;
      if (!FunctionParser(tokens_, function, module_.sources.call_sites).read_body()) return false;
    }
    const auto [known, is_new] = functions_.emplace(function.name, module_.functions.size());
    if (is_new) {
      module_.functions.push_back(std::move(function));
      return true;
    }
    Function& earlier = module_.functions[known->second];
    if (earlier.is_defined && function.is_defined) {
      return tokens_.fail(function.line, "'" + function.name + "' is defined twice");
    }
    if (function.is_defined) earlier = std::move(function);
    return true;
  }

  TokenReader tokens_;
  Module module_;
  std::unordered_map<std::string, std::size_t> functions_;
};

}  // namespace

std::string Instruction::text() const {
  std::string text = opcode;
  for (const std::string& modifier : modifiers) text += "." + modifier;
  return text;
}

Result<Module> parse(std::string_view text) { return ModuleParser(text).parse(); }

}  // namespace recto::ptx::text
