#!/usr/bin/env bash
# usage: test_install.sh BUILD SCRATCH PYTHON
# What cmake --install installs can be imported from there, and a C program builds against it.
set -euo pipefail
build=$1 scratch=$2 python=$3
rm -rf "$scratch"
cmake --install "$build" --prefix "$scratch" > /dev/null
unset ONWARD_LIBRARY
PYTHONPATH=$(dirname "$(find "$scratch" -path '*dist-packages/onward')")
export PYTHONPATH
cd "$scratch"
"$python" -c '
import onward
assert "'"$scratch"'" in onward.__file__, onward.__file__
loaded = [line for line in open("/proc/self/maps") if "libonward.so" in line]
assert all("'"$scratch"'" in line for line in loaded), loaded[0]
assert onward.sample("gaussian", draws=50, seed=1, progress=False)["x"].shape[:2] == (4, 50)
'
cat > use.c << 'EOF'
#include <onward.h>
#include <stdio.h>
int main(void) { return printf("%s\n", onward_version()) < 0; }
EOF
cc use.c -I"$scratch/include" -L"$(dirname "$(find "$scratch" -name libonward.so)")" -lonward -o use
LD_LIBRARY_PATH=$(dirname "$(find "$scratch" -name libonward.so)") ./use
