# For `.ci/run` and `.ci/nightly`: every step runs, also after one that failed. At the end stands how each went and how long it took.
set -uo pipefail
# A machine that others use too may be slow for a moment: a test that failed is tried once more, and the end names it.
export MILLRACE_TEST_RETRY=1
cd "$(dirname "${BASH_SOURCE[0]}")/.."
asked=("$@") names=() reports=() passed=0 failed=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# `step NAME TITLE COMMAND…`. What it prints counts its tests by lines `N passed, N failed`; a step without such a line counts as one.
step() {
  local name=$1 title=$2; shift 2
  names+=("$name")
  [ "${#asked[@]}" = 0 ] || [[ " ${asked[*]} " = *" $name "* ]] || return 0
  local began=$SECONDS code log=$logs/$name good bad mark out writer
  printf '\n=== %s: %s (%s s)\n' "$name" "$title" "$SECONDS"
  exec {out}> >(tee "$log")
  writer=$! # it ends with the step, unless something that the step left running holds its pipe
  ( set -e; "$@" ) >&"$out" 2>&1 </dev/null {out}>&-
  code=$?
  exec {out}>&-
  for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$writer" 2>/dev/null || break; sleep 0.1; done
  read -r good bad < <(awk '/^[0-9]+ passed, [0-9]+ failed/ { good += $1; bad += $3 } END { print good + 0, bad + 0 }' "$log")
  mark=ok
  if [ "$code" != 0 ]; then mark=FAILED; [ "$bad" != 0 ] || bad=1
  else
    bad=0 # what failed was tried again
    if grep -q '^skipped: ' "$log"; then mark=skipped; elif [ "$good" = 0 ]; then good=1; fi
  fi
  passed=$((passed + good)) failed=$((failed + bad))
  reports+=("$(printf '%-8s %6s s  %s' "$mark" "$((SECONDS - began))" "$name")")
}

# The tests that failed, and those that passed only when they were tried again.
failures() {
  sed 's/\x1b\[[0-9;]*m//g' "$logs"/* | awk '/^ *(FAIL|again) / && !seen[$0]++'
}

finish() {
  local name
  for name in "${asked[@]}"; do
    [[ " ${names[*]} " = *" $name "* ]] || { echo "There is no step $name. The steps are: ${names[*]}"; exit 64; }
  done
  printf '\n=== done in %s s\n' "$SECONDS"
  printf '%s\n' "${reports[@]}" | grep -v '^FAILED' || true
  printf '%s\n' "${reports[@]}" | grep '^FAILED' || true
  failures | cut -c 1-300 | head -50
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}

# Real parts for the tests: a Redis server, a browser, and strace to record what programs do. Without the others, the tests that want them are skipped.
system_packages() {
  local as_root=() needed=() wanted=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  install() { DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
  command -v redis-server >/dev/null || needed+=(redis-server)
  # Chromium's build without windows takes half the time of the other, and not every system has it.
  command -v chromium-headless-shell >/dev/null || wanted+=(chromium-headless-shell)
  command -v strace >/dev/null || needed+=(strace)
  command -v zsh >/dev/null || wanted+=(zsh)
  command -v fish >/dev/null || wanted+=(fish)
  command -v xmllint >/dev/null || wanted+=(libxml2-utils)
  command -v ip >/dev/null || wanted+=(iproute2)
  command -v debootstrap >/dev/null || wanted+=(debootstrap)
  command -v mcs >/dev/null || wanted+=(mono-mcs)
  command -v ruby >/dev/null || wanted+=(ruby)
  if [ "$((${#needed[@]} + ${#wanted[@]}))" -gt 0 ] && command -v apt-get >/dev/null; then
    "${as_root[@]}" apt-get update -qq || true
    [ "${#needed[@]}" = 0 ] || install "${needed[@]}"
    install "${wanted[@]}" || for package in "${wanted[@]}"; do install "$package" || echo "not installed: $package"; done
    command -v chromium-headless-shell chromium >/dev/null || install chromium
  fi
  command -v redis-server strace
  command -v chromium-headless-shell || command -v chromium
}

# Whether the registry of this machine has a package. What cannot be had is said, and is no failure of the product.
has_package() {
  npm view "$1" version >/dev/null 2>&1 && return
  echo "skipped: the npm registry of this machine does not have $1"
  return 1
}

registry_first() { has_package opencode-ai || return 0; "$@"; }

# Every run needs these, whichever steps are asked for. Where some are named, libraries that are there stay.
prepare() {
  local wanted=("${asked[@]}")
  asked=()
  step system "system packages" system_packages
  if [ "${#wanted[@]}" = 0 ] || [ ! -d node_modules ]; then step install "npm ci" npm ci; fi
  asked=("${wanted[@]}")
}
