#!/usr/bin/env bash
# Runs a Python program with the packages of requirements.txt, and installs these if needed.
#
#   with_packages.sh FILE ARGS...
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd -P)
if [[ -z ${RECTO_PYTHON:-} ]]; then
  RECTO_PYTHON=$("$here/environment.sh" make) || {
    echo "recto: the Python packages that this needs could not be installed, see above" >&2
    exit 1
  }
fi
exec "$RECTO_PYTHON" -B "$@"
