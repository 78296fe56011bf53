#!/usr/bin/env bash
# The virtual environment with the packages of requirements.txt, shared by all checkouts that want
# the same.
#
#   environment.sh path    prints its interpreter, whether or not it is there
#   environment.sh make    the same, and makes it first if it is not there; where that cannot be
#                          done, fails with the reason as the last line on stderr
#
# It lies in ${XDG_CACHE_HOME:-~/.cache}/recto/python-KEY and is there whole or not at all. KEY
# stands for the requirements, this script and the Python it is for.
set -euo pipefail
export LC_ALL=C  # for reasons in plain letters
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
requirements=$here/requirements.txt

base=$(python3 -c 'import sys; print(sys.executable, "%d.%d.%d" % sys.version_info[:3])')
key=$({ cat "$requirements" "${BASH_SOURCE[0]}"; echo "$base"; } | sha256sum | head -c 16)
caches=${XDG_CACHE_HOME:-$(echo ~)/.cache}/recto
folder=$caches/python-$key

# The reason among what a failed command printed: its last error, or else its last line.
fail() {
  local log=$1 reason
  reason=$(grep -E '^(ERROR|Error|error|[A-Za-z.]*Error):? ' "$log" | tail -n 1 || true)
  [[ -n $reason ]] || reason=$(grep -v '^[[:space:]]*$' "$log" | tail -n 1 || true)
  echo "${reason:-no reason was given}" >&2
  exit 1
}

make() {
  local log=$making/log.txt
  python3 -m venv "$making" >"$log" 2>&1 || fail "$log"
  # All are pinned, so none is looked for by another's filter.
  "$making/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --retries 2 \
    --no-deps --require-hashes --requirement "$requirements" >"$log" 2>&1 </dev/null || fail "$log"
  rm "$log"
  # Scripts name the interpreter by its path.
  find "$making/bin" -type f -exec sed -i "s|$making|$folder|g" {} +
  mv -T "$making" "$folder"
}

case ${1:-} in
  path) ;;
  make)
    if [[ ! -x $folder/bin/python ]]; then
      mkdir -p "$caches"
      exec 9>"$folder.lock"
      flock 9
      # Another may have made it meanwhile.
      if [[ ! -x $folder/bin/python ]]; then
        # What a killed making left is removed by the next one.
        making=$folder.making
        rm -rf "$making"
        mkdir "$making"
        trap 'rm -rf "$making"' EXIT
        make
      fi
    fi
    ;;
  *)
    sed -n '2,/^set/{/^#/p}' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
echo "$folder/bin/python"
