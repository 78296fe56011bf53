#include "verify/cases/npz/npz_archive.h"

#include <fmt/format.h>
#include <zip.h>

#include <memory>
#include <utility>

#include "verify/cases/npz/npy_format.h"

namespace recto::verify {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr zip_uint16_t kDosMidnight = 0;
constexpr zip_uint16_t kDosFirstDay = (1 << 5) | 1;  // 1 January 1980, the format's first

class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;

  zip_error_t* get() { return &error_; }
  std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_ = {};
};

using Archive = std::unique_ptr<zip_t, void (*)(zip_t*)>;
using Source = std::unique_ptr<zip_source_t, void (*)(zip_source_t*)>;
using Member = std::unique_ptr<zip_file_t, int (*)(zip_file_t*)>;

// Opens the archive in `source`, which the caller still owns.
Archive open_archive(zip_source_t* source, int flags, ZipError& error) {
  zip_source_keep(source);
  Archive archive(zip_open_from_source(source, flags, error.get()), zip_discard);
  if (archive == nullptr) zip_source_free(source);
  return archive;
}

// `bytes` must stay valid until the archive is written.
bool add_member(zip_t* archive, const std::string& name, const std::string& bytes) {
  Source source(zip_source_buffer(archive, bytes.data(), bytes.size(), 0), zip_source_free);
  if (source == nullptr) return false;
  const zip_int64_t index =
      zip_file_add(archive, name.c_str(), source.get(), ZIP_FL_ENC_UTF_8 | ZIP_FL_OVERWRITE);
  if (index < 0) return false;
  source.release();  // now owned by the archive
  const auto added = static_cast<zip_uint64_t>(index);
  return zip_set_file_compression(archive, added, ZIP_CM_STORE, 0) == 0 &&
         zip_file_set_dostime(archive, added, kDosMidnight, kDosFirstDay, 0) == 0;
}

Result<std::string> bytes_of(zip_source_t* source) {
  const auto failed = [source] {
    return Status::failed(zip_error_strerror(zip_source_error(source)));
  };
  if (zip_source_open(source) != 0) return failed();
  std::string bytes;
  if (zip_source_seek(source, 0, SEEK_END) == 0) {
    const zip_int64_t size = zip_source_tell(source);
    if (size >= 0) bytes.resize(static_cast<std::size_t>(size));
  }
  const bool is_read = zip_source_seek(source, 0, SEEK_SET) == 0 &&
                       zip_source_read(source, bytes.data(), bytes.size()) == std::ssize(bytes) &&
                       !bytes.empty();
  zip_source_close(source);
  return is_read ? Result<std::string>(std::move(bytes)) : failed();
}

// Reads at most `bytes_max` bytes; the checksum is verified at the end.
Result<std::string> member_bytes(zip_t* archive, zip_uint64_t index, std::int64_t bytes_max) {
  const Member member(zip_fopen_index(archive, index, 0), zip_fclose);
  if (member == nullptr) return Status::invalid_input(zip_strerror(archive));
  std::string bytes;
  std::string chunk(std::size_t{1} << 16, '\0');
  for (;;) {
    const zip_int64_t size = zip_fread(member.get(), chunk.data(), chunk.size());
    if (size < 0) return Status::invalid_input(zip_file_strerror(member.get()));
    if (size == 0) return bytes;
    bytes.append(chunk, 0, static_cast<std::size_t>(size));
    if (std::ssize(bytes) > bytes_max) {
      return Status::invalid_input(fmt::format("expected at most {} bytes of members", bytes_max));
    }
  }
}

Status read_member(zip_t* archive, zip_uint64_t index, std::int64_t& bytes_left,
                   NpzArrays& arrays) {
  const char* const found = zip_get_name(archive, index, ZIP_FL_ENC_RAW);
  const std::string file = found == nullptr ? "" : found;
  const auto wrong = [&file](const Status& status) {
    return status.in(fmt::format("member '{}'", file));
  };
  if (!file.ends_with(kSuffix)) return wrong(Status::invalid_input("expected a name in .npy"));
  const Result<std::string> bytes = member_bytes(archive, index, bytes_left);
  RECTO_RETURN_IF_ERROR(wrong(bytes.status()));
  bytes_left -= std::ssize(bytes.value());
  Result<NpyArray> array = parse_npy(bytes.value());
  RECTO_RETURN_IF_ERROR(wrong(array.status()));
  const std::string name = file.substr(0, file.size() - kSuffix.size());
  if (!arrays.emplace(name, std::move(array).value()).second) {
    return wrong(Status::invalid_input("expected it once, found it twice"));
  }
  return Status::ok();
}

}  // namespace

Result<std::string> npz_bytes(const std::vector<NpzMember>& members) {
  std::vector<std::string> files;
  files.reserve(members.size());  // the archive refers to them until it is closed
  ZipError error;
  const Source source(zip_source_buffer_create(nullptr, 0, 0, error.get()), zip_source_free);
  if (source == nullptr) return Status::failed(error.text());
  Archive archive = open_archive(source.get(), ZIP_CREATE | ZIP_TRUNCATE, error);
  if (archive == nullptr) return Status::failed(error.text());
  for (const NpzMember& member : members) {
    files.push_back(npy_bytes(member.array));
    if (!add_member(archive.get(), member.name + std::string(kSuffix), files.back())) {
      return Status::failed(zip_strerror(archive.get()));
    }
  }
  if (zip_close(archive.get()) != 0) return Status::failed(zip_strerror(archive.get()));
  archive.release();
  return bytes_of(source.get());
}

Result<NpzArrays> parse_npz(std::string_view bytes, std::int64_t bytes_max) {
  ZipError error;
  const Source source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get()),
                      zip_source_free);
  if (source == nullptr) return Status::failed(error.text());
  const Archive archive = open_archive(source.get(), ZIP_RDONLY, error);
  if (archive == nullptr) {
    return Status::invalid_input(
        fmt::format("expected an npz, which is a zip archive: {}", error.text()));
  }
  NpzArrays arrays;
  const zip_int64_t members = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < members; ++i) {
    RECTO_RETURN_IF_ERROR(
        read_member(archive.get(), static_cast<zip_uint64_t>(i), bytes_max, arrays));
  }
  return arrays;
}

}  // namespace recto::verify
