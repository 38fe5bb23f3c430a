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

# The second environment, with torch: only what its tests import, and of the CUDA packages only what libtorch links.
skip=$(printf ' --no-emit-package %s' triton nvidia-cusolver nvidia-cuda-cccl nvidia-nvtx cuda-bindings cuda-pathfinder \
  cuda-toolkit)
{
  head -2 requirements-hub.lock
  # shellcheck disable=SC2086
  printf 'editables>=0.5\nhatchling>=1.27\nhypothesis>=6.120\npytest>=8.3\n' | .venv-lock/bin/uv pip compile \
    pyproject.toml - --extra text --extra image --extra hub --extra train --constraint requirements.lock $skip \
    --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --quiet
} > requirements-hub.lock.new
if grep -nE '://|--(extra-)?index-url|--find-links' requirements-hub.lock.new; then
  echo "requirements-hub.lock.new names an index; not used" >&2
  exit 1
fi
mv requirements-hub.lock.new requirements-hub.lock
echo "requirements-hub.lock: $(grep -c '==' requirements-hub.lock) packages"
