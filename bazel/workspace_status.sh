#!/bin/sh
# Bazel asks it for what programs are stamped with: the commit that they were built from.
commit=$(git describe --always --abbrev=40 --exclude='*' --dirty 2>/dev/null) || commit=unknown
echo "STABLE_GIT_COMMIT $commit"
