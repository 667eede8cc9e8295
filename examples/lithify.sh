# Shared by the examples' scripts: where things are, and the compiler, built from this repository unless $LITHIFY names one.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${CARGO_TARGET_DIR:-$root/target}/examples/$(basename "$(cd "$(dirname "$0")" && pwd)")
mkdir -p "$out"

lithify() {
    if [ -n "${LITHIFY:-}" ]; then
        "$LITHIFY" "$@"
    else
        cargo run --quiet --manifest-path "$root/Cargo.toml" --bin lithify -- "$@"
    fi
}
