#!/usr/bin/env bash
# usage: symbols.sh LIBRARY HEADER
# The library shows the functions of the header, and nothing else.
set -euo pipefail
shown=$(nm -D --defined-only "$1" | awk '{print $3}' | sort)
promised=$(grep -oE '\bonward_[a-z_]+\(' "$2" | tr -d '(' | grep -v '^onward_plugin$' | sort -u)
diff <(echo "$promised") <(echo "$shown") || {
  echo "left: what onward.h promises; right: what the library shows" >&2
  exit 1
}
