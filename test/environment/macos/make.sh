# make.sh NODE FIXTURE FOLDER: programs that answer as those of macOS do, and a `node` for which this machine is a Mac.
set -e
node=$1 fixture=$2 folder=$3
cp "$(dirname "$0")/edge.cjs" "$(dirname "$0")/launchctl.mjs" "$folder"
program() { cat >"$folder/$1" && chmod 755 "$folder/$1"; }
printf '#!/bin/sh\nexec "%s" --require "%s/edge.cjs" "$@"\n' "$node" "$folder" | program node
printf '#!/bin/sh\nexec "%s" "%s/launchctl.mjs" "$@"\n' "$node" "$folder" | program launchctl
for each in ps lsof; do printf '#!/bin/sh\nFAKE_NAME=%s exec "%s" "%s" "$@"\n' $each "$node" "$fixture" | program $each; done
printf '#!/bin/sh\necho 0F2A7C61-5C1D-4B7E-9C0B-3B7B5E1C8A11\n' | program sysctl
printf '#!/bin/sh\necho "    \\"IOPlatformUUID\\" = \\"8D9C2B11-7A64-4C7E-8E55-0A1B2C3D4E5F\\""\n' | program ioreg
mkdir "$folder/sbin"
cp -a /usr/sbin/. "$folder/sbin"
cp "$folder/sysctl" "$folder/ioreg" "$folder/lsof" "$folder/sbin"
mount --bind "$folder/sbin" /usr/sbin
mount --bind "$folder/ps" /bin/ps
