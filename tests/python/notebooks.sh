#!/usr/bin/env bash
# usage: notebooks.sh FILE.ipynb
# Executes a notebook from beginning to end; any exception in it is a failure. Notebooks are stored without output.
set -euo pipefail
PATH=/usr/bin:$PATH  # the distribution's jupyter, whose python3 the other tests use
if ! jupyter nbconvert --version > /dev/null 2>&1; then
  echo "jupyter-nbconvert is not installed, so the notebook is not executed"
  exit 77
fi
if grep -q '"output_type"' "$1"; then
  echo "$1 has output: clear it" >&2
  exit 1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export IPYTHONDIR=$scratch JUPYTER_DATA_DIR=$scratch JUPYTER_RUNTIME_DIR=$scratch HOME=$scratch
jupyter nbconvert --to notebook --execute --ExecutePreprocessor.timeout=300 --output-dir "$scratch" "$1" 2>&1 | tail -25
