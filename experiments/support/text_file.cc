#include "experiments/support/text_file.h"

#include "core/input_file.h"

namespace recto::experiments {

Result<std::string> read_text_file(const std::string& path) {
  Result<std::string> text = read_input_file(path);
  RECTO_RETURN_IF_ERROR(text.status().in(path));
  return text;
}

}  // namespace recto::experiments
