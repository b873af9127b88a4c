#!/usr/bin/env bash
# The first of an ordered list of kernel images that answers otherwise than a baseline:
#   bisect-images.sh --baseline 6.1 --family partitions -- IMAGE...
# What stands before -- are options of `fakecgroup conformance --target vm`.
set -u
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
[ $# -gt 1 ] || { echo "usage: $(basename "$0") OPTIONS -- IMAGE..." >&2; exit 2; }
images=("${@:2}")
same=-1 other=${#images[@]}
while [ $((other - same)) -gt 1 ]; do
  at=$(((same + other) / 2))
  report=$(fakecgroup conformance --target vm --image "${images[at]}" --show 0 "${options[@]}")
  case $? in
    0) same=$at; echo "same   ${images[at]}" ;;
    1) other=$at changes=$report; echo "other  ${images[at]}" ;;
    125) echo "skip   ${images[at]}"; images=("${images[@]:0:at}" "${images[@]:at + 1}"); other=$((other - 1)) ;;
    *) echo "the bisection ends at ${images[at]}" >&2; exit 1 ;;
  esac
done
[ "$other" -lt "${#images[@]}" ] || { echo "all that booted answer the same"; exit 0; }
printf '\nThe first that answers otherwise: %s\n\n%s\n' "${images[other]}" "$changes"
