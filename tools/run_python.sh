#!/usr/bin/env bash
# Runs python3 with the given arguments in the folder of this script, as a test.
set -euo pipefail
# Through the links that Bazel lays, so that the workspace around this folder is the real one.
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"
exec python3 -B "$@"
