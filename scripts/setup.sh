# Sourced by scripts/demo and scripts/test: packages, corpus, configuration and build. Every step is skipped when its
# result is there already.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${ASMEVO_PRESET:-release}
build=$root/build/$preset

# Debian 12 (with its security archive) has all of them.
packages=(
  clang-22 lld-22 llvm-22 llvm-22-dev libclang-rt-22-dev
  cmake ninja-build pkg-config ca-certificates git python3 python3-pip
  libcli11-dev libfmt-dev nlohmann-json3-dev libzstd-dev zlib1g-dev libcurl4-openssl-dev libz3-dev libsqlite3-dev
  libgtest-dev libbenchmark-dev
)

say() { printf '\n== %s\n' "$*"; }

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# Runs a command up to three times: mirrors and networks have bad moments.
retry() {
  local attempt
  for attempt in 1 2 3; do
    "$@" && return 0
    echo "attempt $attempt failed: $*" >&2
    sleep $((attempt * 5))
  done
  return 1
}

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    if [[ $(dpkg-query -W -f '${Status}' "$package" 2> /dev/null) != 'install ok installed' ]]; then
      echo "$package"
    fi
  done
}

install_packages() {
  if ! command -v dpkg-query > /dev/null; then
    echo "not a Debian system; these are needed: ${packages[*]}"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages)
  if [[ ${#missing[@]} -eq 0 ]]; then
    return
  fi
  say "installing ${missing[*]}"
  local as_root=(env DEBIAN_FRONTEND=noninteractive)
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo > /dev/null || fail "needs root: apt-get install ${missing[*]}"
    as_root=(sudo "${as_root[@]}")
  fi
  retry "${as_root[@]}" apt-get update -qq || fail "apt-get update failed"
  retry "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null ||
    fail "apt-get could not install: ${missing[*]}"
}

bring_corpus() {
  say "production code objects"
  retry "$root/scripts/corpus" || fail "no corpus"
}

# build_targets [TARGET...]: everything if none is named.
build_targets() {
  say "building ($preset)"
  cd "$root"
  if [[ ! -f $build/build.ninja ]]; then
    mkdir -p "$root/.cache"
    cmake --preset "$preset" > "$root/.cache/configure.log" 2>&1 || {
      cat "$root/.cache/configure.log" >&2
      fail "cmake could not configure"
    }
  fi
  ninja -C "$build" "$@"
}
