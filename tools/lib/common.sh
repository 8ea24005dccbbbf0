# Sourced by the tools: where things are, how they talk, how they install and build. Needs bash.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${PODCACHE_CACHE:-$HOME/.cache/podcache}
jobs=${PODCACHE_JOBS:-$(nproc)}
PATH=$PATH:/usr/sbin:/sbin:/usr/local/go/bin # a plain shell of a user may lack them
# Root may work on a user's clone, which git would otherwise refuse.
export PATH GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=$top
# A compile is found in the cache whatever the folder that the sources are cloned into.
export CCACHE_BASEDIR=$top CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
python=/usr/bin/python3 # Debian's: the one that its python3-* packages belong to

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
note() { printf '   %s\n' "$*"; }
die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# as_root COMMAND… : directly, or by sudo for an ordinary user.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -- "$@"; fi
}

# with_progress WHAT COMMAND… : output goes to a log that is shown on failure; a line every 30 s says it is alive.
with_progress() {
  local what=$1 log started pid code=0
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/podcache.XXXXXX")
  started=$SECONDS
  "$@" >"$log" 2>&1 &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 1
    if (((SECONDS - started) % 30 == 29)); then note "… $what: $((SECONDS - started)) s"; fi
  done
  wait "$pid" || code=$?
  if ((code != 0)); then
    tail -n 60 "$log"
    note "$what failed (exit $code); whole output: $log"
    return "$code"
  fi
  rm -f "$log"
  note "$what: $((SECONDS - started)) s"
}

# build_preset PRESET [TARGET…] : configures when needed and builds.
build_preset() {
  local preset=$1
  shift
  cd "$top"
  # A build folder keeps the options it was made with: it is configured anew when the presets have changed.
  if [ ! -f "build/$preset/build.ninja" ] || [ CMakePresets.json -nt "build/$preset/build.ninja" ]; then
    with_progress "configure $preset" cmake --preset "$preset"
  fi
  with_progress "build $preset" ninja -C "build/$preset" -j "$jobs" "$@"
}
