#!/bin/bash
# package.sh [linux-x64|linux-arm64] [--only-current]: makes compile-lens-TARGET.vsix; --only-current is quick, for tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "$(uname -m)" in aarch64) target=linux-arm64 ;; *) target=linux-x64 ;; esac
pythons=()
for word in "$@"; do
  case "$word" in --only-current) pythons=("$word") ;; *) target=$word ;; esac
done
.venv/bin/python extension/scripts/bundle.py --target "$target" "${pythons[@]}"
node extension/scripts/build.mjs --production
# README.md may show pictures by relative path; no repository address is needed for that inside the editor.
node_modules/.bin/vsce package --no-dependencies --no-git-tag-version --allow-missing-repository --no-rewrite-relative-links \
  --target "$target" --out "compile-lens-$target.vsix"
