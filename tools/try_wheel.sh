#!/usr/bin/env bash
# Installs the wheel of the Python package into a fresh environment in an empty folder, and does
# what a new user does: verifies a wrong kernel, sees its shrunk case, replays it, simulates,
# plots. Prints the times, and fails if one is beyond its limit.
#
#   tools/try_wheel.sh WHEEL
#
# Needs python3, and a package index for NumPy and matplotlib; no compiler, and of the checkout
# python/examples alone. Debian has pip and venv apart from python3: as root, or by sudo without a
# password, they are installed.
set -euo pipefail
(($# == 1)) && [[ $1 == *.whl && -f $1 ]] || { sed -n '2,/^set/{/^#/p}' "$0" >&2; exit 2; }
wheel=$(realpath "$1")
examples=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../python/examples")
found_within_s=60
all_within_s=300

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
begin=$SECONDS

give_up() {
  echo "try_wheel.sh: $1" >&2
  exit 1
}

# Prints what a step took.
step() {
  local name=$1 since=$SECONDS
  shift
  "$@" >"$work/log" 2>&1 </dev/null || { cat "$work/log" >&2; give_up "$name failed"; }
  printf '%-48s %4d s\n' "$name" "$((SECONDS - since))"
}

has_venv() { python3 -c 'import ensurepip, venv'; }

install_venv() {
  local as_root=()
  ((EUID == 0)) || as_root=(sudo -n)
  "${as_root[@]}" apt-get update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends python3-venv
}

command -v python3 >/dev/null || give_up "expected python3"
has_venv 2>/dev/null || step "venv and pip" install_venv
step "environment" python3 -m venv environment
step "pip install" environment/bin/python -m pip install --quiet "$wheel[simulator]"
# The two runs have a step each, because a user waits for the first alone.
step "a wrong kernel: verify, shrink, explain, replay" \
  environment/bin/python "$examples/first_steps.py" wrong
found=$(sed -n 's/^found, shrunk and explained in \([0-9]*\).*/\1/p' "$work/log")
[[ -n $found ]] && grep -q 'the window is one key too wide' "$work/log" ||
  give_up "expected the fault to be told, found: $(cat "$work/log")"
since_nothing=$((SECONDS - begin))
step "the right kernel passes" environment/bin/python "$examples/first_steps.py" right
step "simulate, plot" environment/bin/python -c '
import recto
recto.fragmentation(requests=100).plot().savefig("states.png")'
[[ -s states.png ]] || give_up "expected a figure"
step "the command line" environment/bin/recto --version
printf '%-48s %4d s, at most %d\n' "the wrong kernel: found and shrunk" "$found" "$found_within_s"
printf '%-48s %4d s, at most %d\n' "the same from nothing" "$since_nothing" "$all_within_s"
((found <= found_within_s && since_nothing <= all_within_s)) || give_up "that took too long"
