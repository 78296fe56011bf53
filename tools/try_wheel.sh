#!/usr/bin/env bash
# Installs the wheel of the Python package into a fresh environment in an empty folder, and does
# what a new user does: verifies a wrong kernel, sees its shrunk case, replays it, simulates, plots.
# Prints the times, and fails if one is beyond its limit.
#
#   tools/try_wheel.sh WHEEL
#
# Needs python3 with venv, and a package index for NumPy and matplotlib; no compiler, no checkout.
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

# Prints what a step took, and remembers it in `took`.
step() {
  local name=$1 since=$SECONDS
  shift
  "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; echo "try_wheel.sh: $name failed" >&2; exit 1; }
  took=$((SECONDS - since))
  printf '%-44s %4d s\n' "$name" "$took"
}

step "environment" python3 -m venv environment
step "pip install" environment/bin/pip install --quiet "$wheel[simulator]"
step "verify, shrink, replay; the right one passes" \
  environment/bin/python "$examples/first_steps.py"
found=$(sed -n 's/^found, shrunk and explained in \([0-9]*\).*/\1/p' "$work/log")
grep -q 'the window is one key too wide' "$work/log"
step "simulate, plot" environment/bin/python -c '
import recto
recto.fragmentation(requests=100).plot().savefig("states.png")'
[[ -s states.png ]]
step "the command line" environment/bin/recto --version
all=$((SECONDS - begin))
printf '%-44s %4d s, at most %d\n' "the wrong kernel: found and shrunk" "$found" "$found_within_s"
printf '%-44s %4d s, at most %d\n' "all, from nothing" "$all" "$all_within_s"
((found <= found_within_s && all <= all_within_s)) || exit 1
