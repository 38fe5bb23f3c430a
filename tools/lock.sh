#!/bin/sh
# Writes requirements.lock: what `pip install zipfian[dev]` means today, exact and hashed, for every supported Python.
# The resolver (uv) lives in an environment of its own and takes packages from wherever this machine's pip takes them.
set -eu
cd "$(dirname "$0")/.."

python=${PYTHON:-.venv/bin/python}
[ -x .venv-lock/bin/uv ] || { "$python" -m venv .venv-lock && .venv-lock/bin/python -m pip install --quiet uv; }

{
  echo "# Exact versions for 'make test', on every supported Python. Written by 'make lock' from pyproject.toml."
  .venv-lock/bin/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
    --generate-hashes --no-header --no-annotate --no-emit-index-url --quiet
} > requirements.lock.new

# A lock that names a package index would tie the project to one machine's settings.
if grep -nE '://|--(extra-)?index-url|--find-links' requirements.lock.new; then
  echo "requirements.lock.new names an index; not used" >&2
  exit 1
fi
mv requirements.lock.new requirements.lock
echo "requirements.lock: $(grep -c '==' requirements.lock) packages"
