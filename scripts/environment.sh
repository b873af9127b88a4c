# Sourced by the scripts beside it: `prepare EXTRAS` (test, check; run for none) gives a virtual environment in .venv with
# this project in it; `program EXTRAS PACKAGE ARGUMENTS` runs a package of scripts/ in that.
# Nothing outside the checkout is changed, unless Debian packages are installed as root; that is told.

# A process that may not keep what it compiles takes twice as long to start; tests start thousands.
unset PYTHONDONTWRITEBYTECODE

CALLED_IN=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

fail() { echo "$(basename "$0"): $*" >&2; exit 1; }

have_apt_root() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

apt_install() {
  echo "$(basename "$0"): installing $* (Debian packages)" >&2
  local log
  log=$(mktemp)
  if apt-get install -y --no-install-recommends "$@" >"$log" 2>&1 ||
    { apt-get update && apt-get install -y --no-install-recommends "$@"; } >"$log" 2>&1; then
    rm -f "$log"
  else
    tail -5 "$log" >&2
    rm -f "$log"
    return 1
  fi
}

# What plain users' mounts need. Without it the rest still works.
fuse_package() {
  command -v fusermount3 >/dev/null || { have_apt_root && apt_install fuse3; } ||
    echo "$(basename "$0"): no fusermount3, so no mounts for plain users (as root: apt-get install fuse3)" >&2
}

# What only the second transport needs. Without it the rest still works.
libfuse_package() {
  ldconfig -p 2>/dev/null | grep -q 'libfuse\.so\.2' || /sbin/ldconfig -p 2>/dev/null | grep -q 'libfuse\.so\.2' ||
    { have_apt_root && { apt_install libfuse2 || apt_install libfuse2t64; }; } ||
    echo "$(basename "$0"): no libfuse 2, so no fusepy transport (as root: apt-get install libfuse2 or libfuse2t64)" >&2
}

# A file in .venv lists the extras that are installed for this pyproject.toml. Its Python may be gone, or another user's.
prepared() {
  local extra
  [ -e "$1" ] && [ -x .venv/bin/python ] || return
  for extra in ${2//,/ }; do
    [ "$extra" = run ] || grep -qx "$extra" "$1" || return
  done
}

prepare() {
  local extras=$1 package=".[$1]" base=${PYTHON:-python3} installed
  [ "$extras" = run ] && package=.
  installed=.venv/fakecgroup-$(cksum <pyproject.toml | tr ' ' -)
  prepared "$installed" "$extras" && return
  exec 8<. && flock 8 # others may be started beside this one
  prepared "$installed" "$extras" && { exec 8<&-; return; }
  command -v "$base" >/dev/null || { [ "$base" = python3 ] && have_apt_root && apt_install python3 python3-venv; } ||
    fail "no $base: install Python 3.10 or newer (as root: apt-get install python3 python3-venv)"
  "$base" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    fail "$("$base" --version) is too old: Python 3.10 or newer is needed; name one with PYTHON=python3.12 $0"
  if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    if ! "$base" -c 'import ensurepip' 2>/dev/null; then
      have_apt_root && apt_install python3-venv || fail "Python has no venv here: as root, apt-get install python3-venv"
    fi
    "$base" -m venv --clear .venv || fail "python -m venv .venv failed"
  fi
  echo "$(basename "$0"): installing into .venv" >&2
  .venv/bin/python -m pip install -q --disable-pip-version-check -e "$package" 2>.venv/pip.log 8<&- ||
    { tail -5 .venv/pip.log >&2; fail "pip could not install what pyproject.toml names"; }
  echo "${extras//,/$'\n'}" >>"$installed"
  exec 8<&-
}

program() {
  local extras=$1 python=$PWD/.venv/bin/python runner=$PWD/scripts/program.py
  shift
  prepare "$extras"
  cd "$CALLED_IN" || exit 1
  exec "$python" "$runner" "$@"
}
