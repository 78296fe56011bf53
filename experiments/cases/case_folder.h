#pragma once

// A folder of cases in files: one manifest, an npz for each case, and what somebody's program
// answers beside them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "verify/case_files/case_arrays.h"
#include "verify/generators/field_reader.h"

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
  verify::Json settings = verify::Json::object();
  std::vector<CaseFile> cases;
};

// JSON, a line for each case. Equal manifests give equal texts.
std::string case_manifest_text(const CaseManifest& manifest);

// Invalid input that names the field: for what is no manifest, and for one that was changed since
// it was written, be it by a case that is left out.
Result<CaseManifest> parse_case_manifest(const std::string& text);

// Its bytes: equal cases give equal ones.
Result<std::string> case_file_bytes(const CaseFile& file);

// The manifest of DIR, which is there. Invalid input, naming the file.
Result<CaseManifest> read_case_manifest(const std::string& folder);

// Whether NAME.npz is as it was written, and its inputs are what this program makes of the case:
// invalid input, naming the file, where it is not.
Status check_case_file(const std::string& folder, const CaseFile& file);

std::string case_manifest_path(const std::string& folder);
std::string case_path(const std::string& folder, const CaseFile& file);

// The file that answers the case, or nothing. Invalid input if there are two.
Result<std::optional<std::string>> answer_path(const std::string& folder, const CaseFile& file);

}  // namespace recto::experiments
