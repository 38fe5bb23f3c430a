#!/bin/sh
# Sees to a Chromium for the tests of the page. Where there is none, it is installed from the distribution if that can be
# done without asking anybody (apt, as root). A driver's own browser is never downloaded. Not having one is no error
# here: the tests say that they were left out, and `make test WITH_BROWSER=must` insists.
set -u
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
[ -z "${CHROMIUM:-}" ] || exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing Chromium for the tests of the page (once)"
  export DEBIAN_FRONTEND=noninteractive
  # The list of packages may be old or empty; where it cannot be renewed, the next line fails, and the tests say so.
  apt-get update -qq >/dev/null 2>&1
  apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || echo "Chromium could not be installed" >&2
fi
