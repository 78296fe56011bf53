#pragma once

// Launches kernels for another process, such as the Python package: requests and answers are lines
// of JSON on a socket, arrays lie in a file that both processes map.
//
//   {"load": bytes}   PTX, at the begin of the file -> {"module": 0, "kernels": [{"name": ...,
//                     "parameters": [{"name": ..., "type": "u64", "bytes": 8}]}]}
//   {"launch": {"module": 0, "kernel": "scale", "grid": [4, 1, 1], "block": [128, 1, 1],
//               "shared": 0, "cluster": [1, 1, 1], "is_cooperative": false, "equal_stores": false,
//               "checks": ["races"], "policy": "in-order", "seed": 0, "counts": false,
//               "is_perturbed": false, "file_bytes": 65536,
//               "buffers": [{"name": "x", "begin": 256, "bytes": 512, "access": "read-write"}],
//               "arguments": [[{"begin": 256}], [{"hex": "0000803f"}]]}}
//                     -> {"findings": [...], "printed": "...", "counters": {"instructions": ...}}
//
// An argument is a list of pieces, one after another. Numbers named `begin` are places in the file.
// What cannot be done is answered by {"error": ...}.

#include "core/status.h"

namespace recto::experiments {

struct PtxServerFiles {
  int socket = 0;
  int memory = 0;
};

// Serves until the other process closes the socket.
Status serve_ptx(const PtxServerFiles& files);

}  // namespace recto::experiments
