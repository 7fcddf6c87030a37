"""Which of several builds of the library suits this processor."""

from __future__ import annotations

import os

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
# What the processor must say of itself in /proc/cpuinfo for each level, besides what the ones before it need.
_FLAGS = {
    "x86-64-v2": "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}


def usable() -> list[str]:
    """The levels that this processor has, the best first; none above ONWARD_ARCH, if that is set."""
    flags: set[str] = set()
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("flags"):
                    flags = set(line.split(":", 1)[1].split())
                    break
    except OSError:
        pass
    asked = os.environ.get("ONWARD_ARCH", "")
    if asked and asked not in LEVELS:
        raise ImportError(f"ONWARD_ARCH is {asked}: it must be one of {', '.join(LEVELS)}")
    levels = []
    for level in LEVELS:
        if not set(_FLAGS[level].split()) <= flags:
            break
        levels.append(level)
        if level == asked:
            break
    return levels[::-1]
