#!/usr/bin/env bash
# Verifies recto's kernels on this machine's GPU, then measures them, and the peers if there is a
# Python with PyTorch. Writes results/<gpu>/ in the current folder:
#
#   verification.txt    each case and test: passed, skipped or FAILED, whose logs lie beside it
#   laws.txt            each law on each kernel: cases, failures, worst error over bound
#   attention.json cache.json merge.json    measurements (Google Benchmark's JSON)
#   peers.json, comparison.txt    measurements of peers, and recto beside them
#   aims.txt            the aims, and whether they are met (needs python3)
#
#   run.sh [--full] [--only-verify] [--samples N] [--jobs N]
#
# --full measures the whole grid, which takes hours. Laws and tests run in --jobs shares at once [as
# many as there are processors, at most 16], measurements one by one. Exit codes: 0 done, 1 a test
# or a measurement failed, no test ran, or a peer was wrong, 2 bad usage, 3 no GPU.
set -euo pipefail
shopt -s nullglob # A bundle may have no tests, or no benchmarks.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
flags=() only_verify=
cases=60 # of all laws
jobs=$(nproc)
((jobs <= 16)) || jobs=16
limit=1800 # seconds for each program that verifies: a kernel may hang

usage() {
  sed -n '2,/^set/{s/^# \{0,1\}//p}' "$here/run.sh"
}

while (($#)); do
  case $1 in
    --full) flags+=(--full); shift ;;
    --only-verify) only_verify=1; shift ;;
    --samples) (($# > 1)) || { usage >&2; exit 2; }; flags+=("--samples=$2"); shift 2 ;;
    --jobs)
      [[ ${2-} =~ ^[1-9][0-9]?$ ]] || { usage >&2; exit 2; }
      jobs=$2; shift 2 ;;
    --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
  esac
done

# Cards are numbered as nvidia-smi numbers them, and the first one counts.
export CUDA_DEVICE_ORDER=PCI_BUS_ID
export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}

# Only our programs get our libraries, because others (Python's) have their own. The C library is
# the machine's, unless it is older than the one that our programs were linked with.
linker=() blas= limited=()
ours() {
  local folders=$here/lib${linker:+:$here/lib/system}${blas:+:$blas}
  "${limited[@]}" env "LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    "${linker[@]}" "$@"
}
find_linker() {
  local said
  said=$(ours "$1" --benchmark_list_tests 2>&1) || true
  [[ ! $said =~ GLIBC_[0-9.]+.?\ not\ found ]] || linker=("$here/lib/system/linker")
}

# The driver's data on the card.
ask_driver() {
  nvidia-smi --id="${CUDA_VISIBLE_DEVICES%%,*}" --query-gpu="$1" --format=csv,noheader 2>/dev/null
}

# The same as KEY=VALUE,... for --benchmark_context.
provenance() {
  local context keys values
  context="recto_commit=$(<"$here/COMMIT")"
  keys=(driver clock_sm_max power_limit temperature_before)
  values=$(ask_driver driver_version,clocks.max.sm,power.limit,temperature.gpu) || {
    echo "$context,driver=unknown: no nvidia-smi"
    return
  }
  local i=0 value
  while IFS= read -r value; do
    context+=",${keys[i++]}=${value# }"
  done < <(tr ',' '\n' <<<"$values")
  echo "$context"
}

# Records the clocks once a second, until it is killed or this script has ended. An idle card has
# other clocks than a busy one.
watch_clocks() {
  while sleep 1 && kill -0 $$ && ask_driver clocks.sm,clocks.mem; do :; done
}

# The median and the 10th and 90th percentile of these clocks, for the context of a results file.
clocks() {
  local field sorted last name=(clock_sm clock_memory)
  for field in 1 2; do
    mapfile -t sorted < <(cut -d, -f"$field" "$1" | sed 's/^ *//' | grep MHz | sort -n)
    last=$((${#sorted[@]} - 1))
    ((last < 0)) || printf '    "%s": "%s",\n' \
      "${name[field - 1]}" "${sorted[last / 2]}" \
      "${name[field - 1]}_low" "${sorted[last / 10]}" \
      "${name[field - 1]}_high" "${sorted[(last * 9 + 9) / 10]}"
  done
}

# Whether a program that did not fail ran nothing: its output says only that it skips.
ran_nothing() {
  grep -q '^SKIPPED:' "$1" && ! grep -v '^SKIPPED:' "$1" | grep -q '[^[:space:]]'
}

# Runs a command in parallel shares, each with its number, then prints their output. 124 if any
# share took too long.
in_shares() {
  local share pids=() last status=0
  for ((share = 0; share < jobs; share++)); do
    "$@" "$share" >"$said.$share" 2>&1 &
    pids+=($!)
  done
  for share in "${!pids[@]}"; do
    last=0
    wait "${pids[share]}" || last=$?
    ((last == 0 || status == 124)) || status=$last
    cat "$said.$share"
    rm "$said.$share"
  done
  return "$status"
}

# The laws on cases of a seed for each share; the cases of a test in Bazel's shards.
share_of_laws() {
  ours "$program" verify --backend gpu --cases $(((cases + jobs - 1) / jobs)) \
    --seed $((2026 + $1)) --out "$failing-cases/$1"
}
share_of_test() {
  TEST_TOTAL_SHARDS=$jobs TEST_SHARD_INDEX=$1 ours "$program"
}

# Adds up the tables of all shares.
add_up_laws() {
  awk -v shares="$jobs" '/^backend +law /{ is_table = 1; if (!header) header = $0; next }
    /^-/ { rule = $0; next }
    !NF { is_table = 0 }
    is_table {
      key = sprintf("%-22s  %-19s", $1, $2)
      if (!(key in cases)) keys[++count] = key
      cases[key] += $3; failed[key] += $4; skipped[key] += $5; held[key] = $6
      if (!(key in worst) || $7 + 0 > worst[key] + 0) worst[key] = $7
      sum += $3
    }
    END {
      print sum " checks in " shares " shares, probabilistic bounds\n\n" header "\n" rule
      for (i = 1; i <= count; ++i) {
        key = keys[i]
        printf "%s  %5d  %6d  %7d  %-7s  %13s\n", key, cases[key], failed[key], skipped[key],
               held[key], worst[key]
      }
    }' "$@"
}

# One verification run: its name in the table, a file for its output, and its command. Keeps the log
# of a failed run.
try() {
  local name=$1 said=$PWD/$results/$2 outcome status=0 limited=(timeout "$limit")
  shift 2
  (cd "$here" && "$@") >"$said" 2>&1 || status=$?
  if ((status != 0)); then
    failed=$((failed + 1))
    outcome="FAILED  $name"
    ((status != 124)) || outcome+=": no end within $limit s"
    echo "$outcome" | tee -a "$results/verification.txt"
    return
  fi
  if ran_nothing "$said"; then
    outcome=skipped skipped=$((skipped + 1))
  else
    outcome=passed passed=$((passed + 1))
    ! grep -q '^SKIPPED:' "$said" || in_part=$((in_part + 1))
  fi
  { grep '^SKIPPED:' "$said" || true; } | tee -a "$results/verification.txt"
  printf '%-7s %s\n' "$outcome" "$name" | tee -a "$results/verification.txt"
  [[ $said != *.log ]] || rm "$said"
}

verify() {
  local program file name failing=$PWD/$results/failing passed=0 failed=0 skipped=0 in_part=0
  echo "commit $(<"$here/COMMIT")" >"$results/verification.txt"
  program=$here/bin/recto_on_gpu
  if [[ -e $program ]]; then
    # The bundle's cases take seconds, and find most faults of a kernel.
    for file in "$here"/cases/*.json; do
      name=$(basename "$file" .json)
      try "case $name" "case_$name.log" ours "$program" replay "$file" --backend gpu
    done
    try recto_on_gpu laws.txt in_shares share_of_laws
    if grep -q '^passed  recto_on_gpu$' "$results/verification.txt" && ((jobs > 1)); then
      add_up_laws "$results/laws.txt" >"$results/laws.part"
      mv "$results/laws.part" "$results/laws.txt"
    fi
  fi
  for program in "$here"/tests/*; do
    name=$(basename "$program")
    try "$name" "$name.log" in_shares share_of_test
  done
  echo "tests: $passed passed ($in_part of them skipped a part), $skipped skipped, $failed failed" |
    tee -a "$results/verification.txt"
  ((failed == 0 && passed > 0))
}

measure() {
  local program file watcher status
  # For the rate of a matrix product. cuBLAS is not bundled, because it is larger than all the rest.
  blas=$(python3 "$here/find_cublas.py" 2>/dev/null) || true
  for program in "$here"/bench/*_benchmark; do
    file=$results/$(basename "$program" _benchmark).json
    status=0
    watch_clocks </dev/null >"$file.clocks" 2>/dev/null &
    watcher=$!
    ours "$program" "${flags[@]}" --benchmark_context="$(provenance)" \
      --benchmark_out="$file.part" --benchmark_out_format=json || status=$?
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    clocks "$file.clocks" >"$file.context"
    rm "$file.clocks"
    ((status == 0)) || return 1
    # Removes the names of the machine and of the folder, which are private.
    sed -i -e '/^ *"host_name":/d; /^ *"executable":/d' \
      -e "/\"context\": {\$/r $file.context" "$file.part"
    rm "$file.context"
    mv "$file.part" "$file"
  done
}

measure_peers() {
  local status=0
  if ! command -v python3 >/dev/null || ! python3 -c 'import torch' 2>/dev/null; then
    echo "SKIPPED: peers: no python3 with PyTorch"
    return
  fi
  rm -f "$results/peers.json"
  python3 "$here/bench_peers/gpu_peers.py" --json "$results/peers.json" || status=$?
  # Peers may find no GPU for another reason: a PyTorch without CUDA, for instance.
  ((status != 3)) || { echo "SKIPPED: peers: see above"; return; }
  # If one peer is wrong, the others are still compared.
  [[ ! -e $results/peers.json ]] || python3 "$here/bench_peers/gpu_peers.py" compare \
    "$results/attention.json" "$results/peers.json" | tee "$results/comparison.txt" || status=1
  return "$status"
}

any=("$here"/bench/*_benchmark)
((${#any[@]})) || {
  echo "run.sh: no benchmark in $here/bench; expected those of a bundle" >&2
  exit 2
}
find_linker "${any[0]}"
status=0
card=$(ours "${any[0]}" --card) || status=$?
((status == 0)) || {
  echo "$card"
  echo "nothing is verified or measured, no results are written"
  exit "$status"
}
results=results/$card
mkdir -p "$results"
echo "$card: results go to $results"
verify || {
  echo "run.sh: nothing is measured: a kernel has no speed that is wrong, or that no test ran" >&2
  exit 1
}
[[ -z $only_verify ]] || exit 0
measure || { echo "run.sh: a measurement failed" >&2; exit 1; }
measure_peers || { echo "run.sh: a peer is wrong, or could not be measured" >&2; status=1; }
! command -v python3 >/dev/null || python3 "$here/aims.py" "$results" | tee "$results/aims.txt"
((status == 0)) || exit "$status"
echo "done: $results; to be committed as experiments/results/$card"
