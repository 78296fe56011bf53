#pragma once

// A folder of cases: a manifest, one npz file per case and, beside them, the answers of the program
// under test.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "verify/cases/case_files/case_arrays.h"
#include "verify/cases/field_reader.h"

namespace recto::experiments {

struct CaseFile {
  std::string name = {};  // NAME.npz, answered by NAME.out.npy or NAME.out.npz
  verify::CaseOperation operation = verify::CaseOperation::kDecode;
  std::string content_hash = {};  // of NAME.npz
  verify::CaseSpec spec = {};
};

struct CaseManifest {
  std::string version = {};  // of the recto that wrote it, and the commit that it was built from
  std::string commit = {};
  std::uint64_t seed = 0;
  Json settings = Json::object();
  std::vector<CaseFile> cases;
};

// JSON, a line for each case. Equal manifests give equal texts.
std::string case_manifest_text(const CaseManifest& manifest);

// Invalid input, naming the field, if the text is not a manifest or was changed after it was
// written, even if only a case was left out.
Result<CaseManifest> parse_case_manifest(const std::string& text);

// The bytes of NAME.npz; equal cases give equal bytes.
Result<std::string> case_file_bytes(const CaseFile& file);

// Reads the manifest of a folder. Invalid input, naming the path, if that fails.
Result<CaseManifest> read_case_manifest(const std::string& folder);

// Checks that NAME.npz is unchanged and that its inputs equal those that this program makes for the
// case. Invalid input, naming the file, otherwise.
Status check_case_file(const std::string& folder, const CaseFile& file);

std::string case_manifest_path(const std::string& folder);
std::string case_path(const std::string& folder, const CaseFile& file);

// The reason of NAME.skip.txt, in one line, if there is such a file: the program does not serve the
// case. Invalid input if it cannot be read, or has no reason.
Result<std::optional<std::string>> skip_reason(const std::string& folder, const CaseFile& file);

// The file that answers the case, if any. Invalid input if there are two, or a reason to skip the
// case as well.
Result<std::optional<std::string>> answer_path(const std::string& folder, const CaseFile& file);

}  // namespace recto::experiments
