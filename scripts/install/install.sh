#!/bin/sh
# Installs Millrace as one file below your home. Needs curl or wget, sha256sum or shasum, and nothing else: no Node, no git, no root.
# MILLRACE_DOWNLOAD: where the files of a release are. MILLRACE_BIN: the folder to put the program in.
set -eu
fail() { echo "error: $2" >&2; exit "$1"; }
has() { command -v "$1" >/dev/null; }
# Once, and no longer than 30 s without a byte.
fetch() {
  if has curl; then curl -fsSL --connect-timeout 30 --speed-limit 1 --speed-time 30 -o "$2" "$1"; else wget -q -t 1 -T 30 -O "$2" "$1"; fi ||
    fail 69 "$1 cannot be fetched, or $folder has no room for it. Nothing was installed."
}
# As a person has to type it.
typed() { case $1 in *[!A-Za-z0-9/._+-]*) printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")" ;; *) printf %s "$1" ;; esac; }
# Half of this script does nothing: its last line calls it.
main() {
  download=${MILLRACE_DOWNLOAD:-}
  download=${download%/}
  [ -n "$download" ] || fail 64 "No release of Millrace exists yet. Set MILLRACE_DOWNLOAD to the address of its files."
  case $(uname -s) in Linux) system=linux ;; Darwin) system=darwin ;; *) fail 69 "There is no file for $(uname -s). On Windows use the line for PowerShell, elsewhere the npm package." ;; esac
  case $(uname -m) in x86_64 | amd64) machine=x64 ;; aarch64 | arm64) machine=arm64 ;; *) fail 69 "There is no file for $(uname -m)." ;; esac
  has curl || has wget || fail 69 "This script needs curl or wget. Install one of them."
  has sha256sum || has shasum || fail 69 "This script needs sha256sum or shasum. Install one of them."
  name=millrace-$system-$machine
  folder=${MILLRACE_BIN:-$HOME/.local/bin}
  own=${MILLRACE_HOME:-$HOME/.millrace}
  [ ! -d "$folder/millrace" ] || fail 73 "$folder/millrace is a folder. Remove it, or set MILLRACE_BIN to another folder for the program."
  mkdir -p "$folder"
  part=$(mktemp "$folder/.millrace.XXXXXX")
  trap 'rm -f "$part" "$part.sha256"' EXIT
  trap 'exit 130' HUP INT TERM
  fetch "$download/$name.sha256" "$part.sha256"
  fetch "$download/$name" "$part"
  wanted=$(cut -c 1-64 "$part.sha256")
  if has sha256sum; then found=$(sha256sum "$part"); else found=$(shasum -a 256 "$part"); fi
  [ "$wanted" = "${found%% *}" ] || fail 65 "The file is not the one of the checksum. Nothing was installed."
  chmod 755 "$part"
  "$part" --version </dev/null >/dev/null || fail 69 "The file does not start here: it needs glibc (not musl), and a folder in which programs may run. Nothing was installed. Use the npm package, or set MILLRACE_BIN to another folder."
  (umask 077 && mkdir -p "$own" && printf '{"from":"%s"}\n' "$download" >"$own/release.json") || # for `millrace update`
    fail 73 "$own cannot be written. Nothing was installed. Set MILLRACE_HOME to another folder."
  mv -f "$part" "$folder/millrace"
  program=$(typed "$folder/millrace")
  echo "Installed $folder/millrace."
  other=$(command -v millrace || :)
  if [ "$other" = "$folder/millrace" ]; then echo "Type: millrace demo"
  else
    [ -z "$other" ] || echo "\`millrace\` is another program now: $other. Put this folder before it in your PATH."
    echo "Add it to your PATH, in the file that your shell reads at its start: export PATH=$(typed "$folder"):\"\$PATH\""
    echo "Type: $program demo"
  fi
  echo "To remove it: $program uninstall, then rm $program"
}
main
