#!/usr/bin/env bash
# Writes what notebooks 04 and 05 read. All of it is counted, and takes less than a minute.
#
#   make_results.sh RECTO LIBRARY [OUT]
#
# RECTO is the program, LIBRARY the faulty example kernel as a shared library. OUT is a folder, by
# default results/ beside this script.
set -euo pipefail
(($# >= 2)) || { sed -n '2,/^set/{/^#/p}' "${BASH_SOURCE[0]}" >&2; exit 2; }
recto=$(realpath "$1")
library=$(realpath "$2")
out=${3:-$(dirname "${BASH_SOURCE[0]}")/results}
mkdir -p "$out"
cd "$out"

# 04: a small model that generates with the kernels, with bytes and operations counted
"$recto" generate --brief >generate.txt

# 05: a kernel whose sliding window is one key too wide. It must fail.
rm -rf failing-cases
cp "$library" libfaulty.so
if "$recto" verify --kernel ./libfaulty.so --law oracle >verify.txt 2>&1; then
  echo "the faulty kernel passed" >&2
  exit 1
fi
case=failing-cases/faulty-c-prefill-oracle-1.json
if "$recto" replay "$case" --kernel ./libfaulty.so >replay.txt 2>&1; then
  echo "its failing case passed" >&2
  exit 1
fi
# The same with one token more: two fault models that both fit give different results on it.
sed 's/"context_length":2/"context_length":3/' "$case" >longer.json
if cmp -s longer.json "$case"; then
  echo "$case: expected a context of 2 tokens" >&2
  exit 1
fi
if "$recto" replay longer.json --kernel ./libfaulty.so >longer.txt 2>&1; then
  echo "the longer case passed" >&2
  exit 1
fi
