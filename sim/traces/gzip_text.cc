#include "sim/traces/gzip_text.h"

#include <zlib.h>

#include "core/contract.h"

namespace recto::testing {

std::string gzip(std::string_view text) {
  z_stream stream = {};
  RECTO_CHECK_EQ(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16,
                              /*memLevel=*/8, Z_DEFAULT_STRATEGY),
                 Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<unsigned>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  RECTO_CHECK_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace recto::testing
