#!/usr/bin/env bash
# A test that cannot be run here. Prints the line that is counted when all tests have run.
echo "SKIPPED: $*"
