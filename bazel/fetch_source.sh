#!/usr/bin/env bash
# Unpacks the source of an installed package into a folder, from apt's archive of the package.
#
#   fetch_source.sh FOLDER PACKAGE FILE PART SHA256
#
# FILE is its name there, PART the requested folder in it. On failure, one line on stdout says why;
# exit code 1.
set -euo pipefail
folder=$1 package=$2 file=$3 part=$4 sum=$5

give_up() {
  echo "$1"
  exit 1
}

helper=/usr/lib/apt/apt-helper
[[ -x $helper ]] || give_up "no apt is here that would fetch its source"
version=$(dpkg-query --show --showformat='${source:Upstream-Version}' "$package" 2>/dev/null) ||
  give_up "$package is not installed by apt"
[[ $file == *_"$version".orig.tar.* ]] ||
  give_up "$package is of version $version, whose source is not in bazel/sources.txt"
address=$(apt-get download --print-uris "$package" 2>/dev/null | cut -d "'" -f 2) || true
[[ $address == */* ]] || give_up "apt does not say where $package is from"

work=$(mktemp -d) || give_up "no temporary folder can be made"
trap 'rm -rf "$work"' EXIT
timeout 120 "$helper" \
  -o Acquire::Retries=0 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
  download-file "${address%/*}/$file" "$work/$file" "SHA256:$sum" >"$work/log" 2>&1 ||
  give_up "apt could not fetch $file:$(sed -n 's|^E: Failed to fetch [^ ]*||p' "$work/log")"
mkdir -p "$folder" || give_up "the folder $folder cannot be made"
tar --extract --file "$work/$file" --directory "$folder" --strip-components=1 \
  --wildcards "*/$part/*" 2>"$work/log" ||
  give_up "tar could not unpack $file: $(tail -n 1 "$work/log")"
