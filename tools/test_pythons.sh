#!/bin/sh
# Runs the tests, less the crash and damage loops, on every supported Python this machine has besides that of .venv.
# Each gets an environment of its own (.venv-3.12 ...) from the same lock. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."

usable='import sys, venv, ensurepip; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])'
ours=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo none)
ran=
failed=
missing=
for version in 3.11 3.12 3.13 3.14; do
  [ "$version" = "$ours" ] && continue
  found=
  for p in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/"python$version"; do
    if "$p" -c "$usable" "$version" </dev/null >/dev/null 2>&1; then found=$p; break; fi
  done
  if [ -z "$found" ]; then missing="$missing $version"; continue; fi

  venv=.venv-$version
  if [ ! -f "$venv/.ready" ] || [ requirements.lock -nt "$venv/.ready" ] || [ pyproject.toml -nt "$venv/.ready" ]; then
    echo "making $venv with $("$found" --version)"
    [ -d "$venv" ] || "$found" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --require-hashes --only-binary :all: -r requirements.lock
    "$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable .
    touch "$venv/.ready"
  fi
  echo "== Python $version"
  if "$venv/bin/python" -m pytest -q --ignore=tests/reliability "$@"; then ran="$ran $version"; else failed="$failed $version"; fi
done
echo "passed on Python:${ran:- none} (besides $ours)${failed:+; failed on:$failed}${missing:+; not on this machine:$missing}"
[ -z "$failed" ]
