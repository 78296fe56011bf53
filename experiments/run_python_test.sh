#!/usr/bin/env bash
# Runs the Python test beside this script on the program named by the first argument.
set -euo pipefail
program=$(readlink -f "$1")
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/recto_test.py" "$program"
