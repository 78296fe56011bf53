#pragma once

// The short text form of a workload's parts: `kind`, or `kind:name=value,name=value`, such as
// `lognormal:mean=161,cv=1.2,max=2048`. Names may be omitted if the values are in the order of the
// form: `uniform:16,1024`. This file knows only the syntax; each part checks its own values, with
// check_number and check_count.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace recto::sim {

// Reads the fields of one text. The first error is kept and returned by `finish`; values read after
// it are meaningless.
class SpecReader {
 public:
  explicit SpecReader(std::string_view text);

  const std::string& kind() const { return kind_; }

  double number(std::string_view name);
  std::int64_t count(std::string_view name);
  double number_or(std::string_view name, double fallback);
  std::int64_t count_or(std::string_view name, std::int64_t fallback);

  // Everything after the kind, verbatim, for forms that are not a list of fields.
  std::string_view whole();

  // All values not yet read, which must be unnamed.
  std::vector<std::string> unnamed_values();

  void fail(std::string message);

  // Returns the first error, or an error if a given field was never read.
  Status finish() const;

 private:
  struct Field {
    std::string name;  // empty if given by position
    std::string value;
    bool was_read = false;
  };

  std::optional<std::string> take(std::string_view name);
  std::string require(std::string_view name);
  double to_number(std::string_view name, const std::string& value);
  std::int64_t to_count(std::string_view name, const std::string& value);

  std::string kind_;
  std::string body_;  // after the first ':'
  std::vector<Field> fields_;
  Status failure_;
};

// One kind of text and how to read it.
template <typename Spec>
struct SpecForm {
  std::string_view kind;
  std::string_view usage;  // as shown in errors and help
  Spec (*read)(SpecReader& reader);
};

// Parses `text` with the form of its kind, then checks the values.
template <typename Spec>
Result<Spec> read_spec(std::string_view text, std::span<const SpecForm<Spec>> forms,
                       Status (*check)(const Spec&)) {
  SpecReader reader(text);
  std::string usages;
  for (const SpecForm<Spec>& form : forms) {
    usages += (usages.empty() ? "" : ", ") + std::string(form.usage);
    if (reader.kind() != form.kind) continue;
    Spec spec = form.read(reader);
    Status status = reader.finish();
    if (status.is_ok()) status = check(spec);
    if (status.is_ok()) return spec;
    return Status::invalid_input("'" + std::string(text) + "': " + status.message() +
                                 "; the form is " + std::string(form.usage));
  }
  return Status::invalid_input("'" + std::string(text) + "': unknown kind '" + reader.kind() +
                               "'; expected one of " + usages);
}

// The syntax of each kind, for help.
template <typename Spec>
std::vector<std::string> usages_of(std::span<const SpecForm<Spec>> forms) {
  std::vector<std::string> usages;
  for (const SpecForm<Spec>& form : forms) usages.emplace_back(form.usage);
  return usages;
}

// Closed intervals.
struct NumberRange {
  double min;
  double max;
};
struct CountRange {
  std::int64_t min;
  std::int64_t max;
};

// Returns an error that names the field, the range and the value, unless the value is in the range.
Status check_number(std::string_view field, double value, NumberRange range);
Status check_count(std::string_view field, std::int64_t value, CountRange range);

}  // namespace recto::sim
