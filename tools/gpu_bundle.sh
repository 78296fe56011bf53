#!/usr/bin/env bash
# Makes a folder that verifies and measures recto's kernels on a GPU. It runs on any machine with a
# driver, without Bazel, compilers or a network.
#
#   tools/gpu_bundle.sh [--out DIR]                     builds the programs, makes DIR [gpu_bundle]
#   tools/gpu_bundle.sh --out DIR --programs FILE...    takes programs that were built before, of
#                                                       the commit that recto among them names
#
# Then, on a machine with a GPU:  DIR/run.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=gpu_bundle
programs=()

usage() {
  sed -n '2,/^set/{s/^# \{0,1\}//p}' "$root/tools/gpu_bundle.sh"
}

misuse() {
  usage >&2
  exit 2
}

# Every test that is tagged to run on a GPU and is a program, recto with these kernels, and the
# benchmarks.
build_programs() {
  local labels label
  cd "$root"
  labels=$(./bazelw query 'kind("cc_test", attr(tags, "\bcuda\b",
      //cuda/... + //verify:all + //verify/block_manager:all + //verify/engine:all
      + //verify/kernels/host_api:all + //verify/kernels:all))
    + kind("cc_binary", //cuda/bench:all) + //experiments:recto_on_gpu')
  ./bazelw build $labels
  for label in $labels; do
    label=${label#//}
    programs+=("$root/bazel-bin/${label/://}")
  done
}

# Copies the shared libraries of a program: the C library, and libraries that could not be linked
# statically (bazel/archives.bzl). The C library and the linker go to a separate folder: programs
# use the machine's own, unless these are too old. The driver is searched when a program runs.
copy_libraries() {
  # A script has no libraries.
  { ldd "$1" 2>/dev/null || true; } | while read -r name arrow path _; do
    case $name in
      /*ld-linux*) cp -L "$name" "$out/lib/system/linker" ;;
      libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.*)
        cp -L "$path" "$out/lib/system/$name" ;;
      *) [[ $arrow != '=>' || ! -f $path ]] || cp -L "$path" "$out/lib/$name" ;;
    esac
  done
}

# The commit of the checkout, from which programs are built here.
checkout_commit() {
  local hash
  hash=$(git -C "$root" rev-parse HEAD 2>/dev/null) || { echo unknown; return; }
  [[ -z $(git -C "$root" status --porcelain 2>/dev/null) ]] || hash+=-dirty
  echo "$hash"
}

# The commit of programs that were built before, according to the recto among them.
programs_commit() {
  local program said
  for program in "${programs[@]}"; do
    [[ $program == */recto_on_gpu ]] || continue
    said=$("$program" --version 2>/dev/null) || break
    [[ $said =~ ,\ commit\ ([0-9a-f]+(-dirty)?)$ ]] || break
    echo "${BASH_REMATCH[1]}"
    return
  done
  echo unknown
}

while (($#)); do
  case $1 in
    --out) (($# > 1)) || misuse; out=$2; shift 2 ;;
    --programs) shift; programs=("$@"); (($#)) || misuse; break ;;
    --help) usage; exit 0 ;;
    *) misuse ;;
  esac
done
if [[ -e $out ]]; then
  echo "gpu_bundle.sh: $out is there already; expected a new folder" >&2
  exit 2
fi
for program in "${programs[@]}"; do
  [[ -f $program ]] || { echo "gpu_bundle.sh: --programs: $program is no file" >&2; exit 2; }
done
out=$(realpath -m "$out")
if ((${#programs[@]})); then
  built_from=$(programs_commit)
else
  # Before the folder exists, because it may be in the checkout.
  built_from=$(checkout_commit)
  build_programs
fi

mkdir -p "$out"/{bin,tests,bench,cases,lib/system}
for program in "${programs[@]}"; do
  case $program in
    *_benchmark) folder=bench ;;
    */recto_on_gpu) folder=bin ;;
    *) folder=tests ;;
  esac
  cp -L "$program" "$out/$folder/"
  copy_libraries "$program"
done
chmod -R u+w "$out"
(cd "$root/tools" && find -L bench_peers -name '*.py' ! -name '*_test.py' \
  -exec cp -L --parents {} "$out" \;)
cp -L "$root/tools/gpu_bundle"/{run.sh,aims.py,find_cublas.py} "$out/"
cp -L "$root"/tools/gpu_bundle/cases/*.json "$out/cases/"
echo "$built_from" >"$out/COMMIT"
cat >"$out/README" <<END
Verifies recto's kernels on this machine's GPU, and measures them:  ./run.sh
It asks for a driver, and nothing else. Exit codes and flags: ./run.sh --help
END
count() { find "$@" -type f | wc -l; }
echo "$out: cases: $(count "$out/cases"), tests: $(count "$out/tests"), benchmarks:" \
  "$(count "$out/bench"), shared libraries but the system's: $(count "$out/lib" -maxdepth 1)"
