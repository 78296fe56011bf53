#pragma once

// Valid and invalid safetensors files, for tests.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace recto::verify {

// Eight bytes of length, the header, the data.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(header.size() >> (8 * i)));
  return bytes + header + data;
}

inline std::string bytes_of(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// F32 tensors, one after the other.
class SafetensorsText {
 public:
  void add(const std::string& name, const std::string& shape, const std::vector<float>& values) {
    const std::string bytes = bytes_of(values);
    header_ += header_.empty() ? "{" : ",";
    header_ += "\"" + name + R"(":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" +
               std::to_string(data_.size()) + "," + std::to_string(data_.size() + bytes.size()) +
               "]}";
    data_ += bytes;
  }
  std::string bytes() const { return safetensors_bytes(header_ + "}", data_); }

 private:
  std::string header_;
  std::string data_;
};

}  // namespace recto::verify
