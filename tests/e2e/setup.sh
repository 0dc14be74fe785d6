#!/bin/bash
# setup.sh: installs the editor for the tests: Chromium, fonts and Neovim from Debian; VS Code (code-server) with its own
# Node from npm, into tests/e2e/node_modules. Does nothing when the lock file is the one that is installed.
set -euo pipefail
cd "$(dirname "$0")"
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false npm_config_omit_lockfile_registry_resolved=true

missing=()
for pair in chromium:chromium nvim:neovim; do command -v "${pair%:*}" >/dev/null || missing+=("${pair#*:}"); done
command -v fc-list >/dev/null || missing+=(fontconfig)
fonts=$(fc-list : family 2>/dev/null || true)
grep -q 'DejaVu' <<<"$fonts" || missing+=(fonts-dejavu-core)
grep -qE 'CJK|WenQuanYi' <<<"$fonts" || missing+=(fonts-wqy-zenhei)
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "The end-to-end tests lack the Debian packages ${missing[*]}; install them as root, then run this again." >&2
    exit 1
  fi
  echo "Installing Debian packages: ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

stamp=node_modules/.installed
want=$(cat package-lock.json setup.sh | sha256sum)
if [ "$(cat $stamp 2>/dev/null)" = "$want" ]; then
  exit 0
fi
echo "Installing VS Code for the tests from npm (about two minutes)"
npm ci --ignore-scripts
node=$(echo "$PWD"/node_modules/node-linux-*)
export PATH=$node/bin:$PATH npm_config_nodedir=$node
cd node_modules/code-server/lib/vscode
npm install --omit=dev --ignore-scripts
echo "Building the native modules for log files and for noticing a dead parent"
npm rebuild @vscode/spdlog @vscode/native-watchdog
cd - >/dev/null
echo "$want" >$stamp
