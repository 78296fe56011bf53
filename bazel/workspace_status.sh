#!/bin/sh
# Prints the values with which Bazel stamps programs: the commit that they were built from, and the
# day of that commit.
commit=$(git describe --always --abbrev=40 --exclude='*' --dirty 2>/dev/null) || commit=unknown
day=$(TZ=UTC git show -s --format=%cd --date=format-local:%Y-%m-%d 2>/dev/null) || day=
echo "STABLE_GIT_COMMIT $commit"
echo "STABLE_GIT_DAY $day"
