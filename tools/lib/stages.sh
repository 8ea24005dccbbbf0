# Sourced by tools/test: the stages. A stage is a function stage_NAME plus one line in the table; it may assume what the
# stages it names in its `needs` have made, and builds by itself what it needs when called alone.

# The tests run on the build with address and undefined-behaviour sanitizers: what passes there passes without, so nothing
# is built twice for them. For a quick look while working: PODCACHE_TEST_PRESET=dev tools/test unit
test_preset=${PODCACHE_TEST_PRESET:-asan}

# name | needs | what it does. In order of running: quick ones first.
stages=$(
  cat <<'TABLE'
style       |          | clang-format, include layering, syntax of scripts
build       |          | asan preset: everything, warnings as errors, address and undefined-behaviour sanitizers
unit        | build    | unit and property tests (asan)
integration | build    | the real server on port 0: protocol, limits, resize, admin (asan)
clients     |          | real client libraries: pymemcache, pylibmc, bmemcached, gomemcache, spymemcached, memjs (release with test hooks)
differential |         | random conversations with memcached 1.6.45 and podcached, which must answer alike (30 s)
fuzz-replay | build    | the fuzz corpora as ordinary tests (asan)
reference   |          | the same protocol transcripts against memcached 1.6.45: what we claim to match, it does
conformance | build    | memcached's own tests: 50 files by prove, testapp, memccapable (release with test hooks, asan)
cluster     |          | Kubernetes and Helm binaries for the tests (minutes the first time, then cached)
charts      | build    | helm lint, rendered templates, CRD drift, rights against the permission table
kube        | build    | Kubernetes client, operator and CRD rules against a real API server (asan)
tsan        |          | thread sanitizer: tests that carry its label
limits      |          | a full cache and very many, slow, stopped or greedy clients: RSS within the budget (release)
bench       |          | a short run of each workload of tools/bench: replies are checked, speed is not (release)
instructions |          | instructions per operation by callgrind, at most 3 % above those recorded (release)
release     |          | release preset: the binaries that go into the images
images      | release  | images of this machine, their contents and sizes
e2e         | images   | a real one-node cluster: install, injection, load, live resize, Prometheus, uninstall
tidy        | build    | clang: lock annotations as errors, the core's headers compile alone, clang-tidy on what changed
arm64       |          | cross build, images of both architectures in one index, protocol smoke test under emulation
TABLE
)

# The sanitizers of g++ 12 know fewer layouts of the address space than new kernels choose from.
without_aslr() {
  if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

# run_ctest PRESET LABEL_REGEX [ARGUMENT…]
run_ctest() {
  local preset=$1 labels=$2
  shift 2
  without_aslr ctest --test-dir "$top/build/$preset" -L "$labels" --output-on-failure --no-tests=error -j "$jobs" "$@"
}

stage_style() {
  "$top/tools/format" --check
  "$top/tools/check_layering"
  local file
  cd "$top"
  while IFS= read -r file; do
    [ -f "$file" ] || continue
    case $(head -c 64 "$file" | head -n 1 | tr -d '\0') in
      '#!'*bash | '#!/bin/sh') bash -n "$file" ;;
      '#!'*python3) "$python" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$file" ;;
    esac
  done < <(git ls-files --cached --others --exclude-standard -- tools tests images .ci)
  echo "scripts: syntax is right"
}

stage_build() { build_preset "$test_preset"; }

# run_tests LABEL
run_tests() {
  build_preset "$test_preset"
  run_ctest "$test_preset" "^$1\$"
}

stage_unit() { run_tests unit; }
stage_integration() { run_tests integration; }
stage_clients() {
  build_preset hooks podcached
  "$python" -B "$top/tests/clients/run" "$top/build/hooks/bin/podcached"
}

# PODCACHE_DIFFERENTIAL_SECONDS: how long.
stage_differential() {
  build_preset hooks podcached
  "$python" -B "$top/tests/differential/run" --seconds "${PODCACHE_DIFFERENTIAL_SECONDS:-30}" "$top/build/hooks/bin/podcached"
}

stage_fuzz-replay() { run_tests fuzz-replay; }
stage_kube() { run_tests kube; }

stage_reference() {
  "$python" -B "$top/tests/transcript/run.py" --memcached --start "$top/tools/memcached-peer run -t 1"
  AUTH_REFERENCE="$top/tools/memcached-peer run" "$python" -B "$top/tests/integration/auth_test.py" Table
}

# PODCACHE_CONFORMANCE: the presets to run it with, both unless given.
stage_conformance() {
  local preset
  for preset in ${PODCACHE_CONFORMANCE:-hooks asan}; do
    build_preset "$preset" podcached
    "$python" -B "$top/tests/conformance/run" "$top/build/$preset/bin/podcached"
  done
}

stage_cluster() { "$top/tests/cluster/cluster" build; }

stage_charts() {
  build_preset "$test_preset"
  local helm
  helm=$("$top/tests/cluster/cluster" build)/helm
  "$helm" lint --strict "$top/charts/podcache"
  HELM=$helm "$python" -m unittest discover -v -s "$top/tests/charts" -p '*_test.py'
}

# By its own command: it fills gigabytes, and only the memory of an ordinary build says anything.
stage_limits() {
  build_preset release podcached
  (cd "$top/tests/integration" && PODCACHED=$top/build/release/bin/podcached "$python" -B limits_test.py)
}

stage_instructions() { "$top/tools/bench" instructions; }
stage_bench() { "$top/tools/bench" smoke; }

stage_release() { build_preset release podcached podcache-operator podcachectl; }

stage_images() {
  "$top/tools/images" --arch "$(dpkg --print-architecture)"
  "$python" "$top/tests/images/images_test.py" -v
  "$python" "$top/tests/images/startup_test.py" -v
}

stage_e2e() {
  stage_release
  "$top/tools/images" --arch "$(dpkg --print-architecture)"
  "$python" -m unittest discover -v -f -s "$top/tests/e2e" -p '*_test.py'
}

# clang-tidy takes minutes over everything, so it looks at the sources changed since main, or by the last commit on main
# itself. PODCACHE_TIDY_ALL=1: all of them.
changed_sources() {
  local base
  base=$(git merge-base HEAD main 2>/dev/null || git merge-base HEAD origin/main 2>/dev/null || true)
  if [ -n "${PODCACHE_TIDY_ALL:-}" ]; then
    git ls-files -- 'common/*.cc' 'server/*.cc' 'operator/*.cc'
    return
  fi
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base=HEAD~1; fi
  git rev-parse --verify --quiet "$base" >/dev/null || return 0
  git diff --name-only --diff-filter=d "$base" -- 'common/*.cc' 'server/*.cc' 'operator/*.cc'
}

stage_tidy() {
  build_preset tidy all all_verify_interface_header_sets
  local files
  mapfile -t files < <(changed_sources)
  if ((${#files[@]} == 0)); then
    echo "clang-tidy: no source changed"
    return
  fi
  printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$jobs" clang-tidy-14 -p "$top/build/$test_preset" --quiet
  echo "clang-tidy: ${#files[@]} sources are clean"
}

stage_tsan() {
  build_preset tsan
  run_ctest tsan '^tsan$'
}

stage_arm64() {
  "$top/tools/images"
  "$python" "$top/tests/images/images_test.py" -v
  "$python" "$top/tests/images/arm64_smoke_test.py" -v
}
