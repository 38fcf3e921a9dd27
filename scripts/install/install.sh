#!/bin/sh
# Installs Millrace as one file below your home. Needs curl or wget, and nothing else: no Node, no git, no root.
# MILLRACE_DOWNLOAD: where the files of a release are. MILLRACE_BIN: the folder to put the program in.
set -eu
download=${MILLRACE_DOWNLOAD:-}
[ -n "$download" ] || { echo "error: No release of Millrace exists yet. Set MILLRACE_DOWNLOAD to the address of its files." >&2; exit 64; }
case $(uname -s) in Linux) system=linux ;; Darwin) system=darwin ;; *) echo "error: There is no file for $(uname -s)." >&2; exit 69 ;; esac
case $(uname -m) in x86_64 | amd64) machine=x64 ;; aarch64 | arm64) machine=arm64 ;; *) echo "error: There is no file for $(uname -m)." >&2; exit 69 ;; esac
if [ "$system" = linux ] && ldd /bin/ls 2>/dev/null | grep -q musl; then
  echo "error: The file needs glibc, and this system has musl. Use the npm package." >&2; exit 69
fi
name=millrace-$system-$machine
folder=${MILLRACE_BIN:-$HOME/.local/bin}
mkdir -p "$folder"
part=$(mktemp "$folder/.millrace.XXXXXX")
trap 'rm -f "$part" "$part.sha256"' EXIT
trap 'exit 130' HUP INT TERM
fetch() { if command -v curl >/dev/null; then curl -fsSL -o "$2" "$1"; else wget -q -O "$2" "$1"; fi || { echo "error: $1 cannot be fetched." >&2; exit 69; }; }
fetch "$download/$name.sha256" "$part.sha256"
fetch "$download/$name" "$part"
wanted=$(cut -c 1-64 "$part.sha256")
if command -v sha256sum >/dev/null; then found=$(sha256sum "$part"); else found=$(shasum -a 256 "$part"); fi
[ "$wanted" = "${found%% *}" ] || { echo "error: The file is not the one of the checksum. Nothing was installed." >&2; exit 65; }
chmod 755 "$part"
mv -f "$part" "$folder/millrace"
home=${MILLRACE_HOME:-$HOME/.millrace}
(umask 077 && mkdir -p "$home" && printf '{"from":"%s"}\n' "$download" >"$home/release.json") # for `millrace update`
echo "Installed $folder/millrace."
case ":$PATH:" in
  *":$folder:"*) echo "Type: millrace demo" ;;
  *) echo "Add it to your PATH, in the file that your shell reads at its start: export PATH=\"$folder:\$PATH\""
     echo "Type: $folder/millrace demo" ;;
esac
echo "To remove it: $folder/millrace uninstall, then rm $folder/millrace"
