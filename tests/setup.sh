#!/usr/bin/env bash
# Prepare what the tests read, under target/ (or $CARGO_TARGET_DIR):
#
#   target/python   a Python environment with tests/requirements.txt
#   target/suite    the ONNX backend test suite
#   target/zoo      real models with inputs and reference outputs
#
# Usage: tests/setup.sh [--quick | --expected]
#
# Without an option, all models of tests/zoo/models.json are fetched (0.65 GB); --expected takes the ones that must pass
# (0.25 GB), --quick the small ones of these (40 MB). Run again after any change: what is in place is left alone.
# Needs Python 3.11 or newer with its venv module ($PYTHON names another interpreter than python3), and access to PyPI.
set -euo pipefail

tier=all
case "${1:-}" in
"") ;;
--quick) tier=quick ;;
--expected) tier=expected ;;
*) sed -n '2,/^set/{s/^# \{0,1\}//;/^set/!p}' "$0" && exit 2 ;;
esac

tests=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$(dirname "$tests")/target}
environment=$target/python
mkdir -p "$target"
exec 9>"$target/.setup.lock" && flock 9

if ! cmp -s "$tests/requirements.txt" "$environment/installed-requirements.txt"; then
    "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        { echo "setup.sh: Python 3.11 or newer is needed; set PYTHON to one" >&2; exit 1; }
    "${PYTHON:-python3}" -m venv "$environment"
    "$environment/bin/pip" --disable-pip-version-check install --quiet --requirement "$tests/requirements.txt"
    cp "$tests/requirements.txt" "$environment/installed-requirements.txt"
fi
python=$environment/bin/python

"$python" "$tests/suite/generate.py" --out "$target/suite"
"$python" "$tests/zoo/fetch.py" --out "$target/zoo" --tier "$tier"
"$python" "$tests/zoo/reference.py" --zoo "$target/zoo" --tier "$tier"
