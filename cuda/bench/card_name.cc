#include "cuda/bench/card_name.h"

namespace recto::bench {
namespace {

// Independent of the locale.
bool is_kept(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

std::string card_folder_name(std::string_view name) {
  for (const std::string_view maker : {"NVIDIA ", "GeForce "}) {
    if (name.starts_with(maker)) name.remove_prefix(maker.size());
  }
  std::string folder;
  for (const char c : name) {
    if (is_kept(c)) {
      folder += c;
    } else if (!folder.empty() && folder.back() != '-') {
      folder += '-';
    }
  }
  while (folder.ends_with('-')) folder.pop_back();
  return folder.empty() ? "unnamed" : folder;
}

}  // namespace recto::bench
