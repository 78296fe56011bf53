#!/usr/bin/env bash
# Runs a script as a test that needs Python packages; recto_script_test calls it.
#
#   run_with_packages.sh INTERPRETER_TXT WHY_NONE_TXT SCRIPT ARGS...
#
# The files hold the path of the interpreter, or nothing and the reason.
set -euo pipefail
python=$(<"$1")
why_none=$(<"$2")
script=$3
shift 3
if [[ -z $python ]]; then
  echo "SKIPPED: $script needs Python packages: $why_none"
  exit 0
fi
# Some packages keep settings and caches in the home folder.
export HOME=${TEST_TMPDIR:?} XDG_CACHE_HOME=$TEST_TMPDIR XDG_CONFIG_HOME=$TEST_TMPDIR
export RECTO_PYTHON=$python MPLBACKEND=agg
exec "$python" -B "$script" "$@"
