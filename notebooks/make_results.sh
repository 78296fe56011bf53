#!/usr/bin/env bash
# Writes what the notebooks read. All of it is simulated or counted, and takes a minute.
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

# 01: the same traffic against four allocators
"$recto" fragmentation --requests 400 --block-sizes 16 \
  --allocators contiguous-max,contiguous-pow2,contiguous-oracle,paged --out memory >memory.txt

# 02: agents with shared instructions, more than a small pool serves, over block sizes. 1000 tokens
# are shared, which is not a multiple of larger block sizes.
"$recto" fragmentation --workload agent --sharing agent:tokens=1000,turns=5,active=64 \
  --requests 300 --model Llama-3.1-8B --gpu H100 --pool-gib 3 --scale-rate 3 \
  --allocators paged,prefix-cached --block-sizes 1,4,16,64,256 --report --out block_sizes \
  >block_sizes.txt

# 03: several answers to one prompt, beams, and prompts with a common beginning
for decoding in single parallel:4 "beam:4 --beam-switch-probability 0.1"; do
  # Unquoted: a flag may follow.
  "$recto" simulate --requests 150 --decoding $decoding --json >"decoding_${decoding%%:*}.json"
done
for block_size in 8 16 32 64; do
  "$recto" simulate --requests 150 --decoding parallel:4 --block-size "$block_size" --json \
    >"copies_$block_size.json"
done
for allocator in paged prefix-cached; do
  "$recto" simulate --workload agent --requests 150 --model Llama-3.1-8B --gpu H100 \
    --allocator "$allocator" --json >"agent_$allocator.json"
done

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
