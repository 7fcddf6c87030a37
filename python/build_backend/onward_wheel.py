"""Builds the wheel: the Python module with libonward.so beside it. It is what `pip install .` calls (PEP 517).

    pip install .                                        for the processor of this machine
    pip wheel . --config-settings portable=true          for any x86-64, which takes three builds
"""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def _version() -> str:
    return re.search(r"project\(onward VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def _build(folder: pathlib.Path, *options: str) -> pathlib.Path:
    """libonward.so, built from these sources."""
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DONWARD_BUILD_TESTS=OFF", *options]
    if shutil.which("ccache"):
        configure.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    for command in (configure, ["cmake", "--build", str(folder), "--target", "onward_c"]):
        print("onward:", *command, file=sys.stderr, flush=True)
        subprocess.run(command, check=True, stdout=sys.stderr)
    return folder / "libonward.so.1"


def _libraries(portable: bool) -> dict[str, pathlib.Path]:
    """The shared objects of a wheel, by their places in it."""
    if not portable:
        return {"onward/libonward.so.1": _build(ROOT / "build" / "wheel")}
    return {
        f"onward/{level}/libonward.so.1": _build(ROOT / "build" / f"wheel-{level}", f"-DONWARD_ARCH={level}")
        for level in LEVELS
    }


def _metadata() -> dict[str, bytes]:
    info = f"onward-{_version()}.dist-info"
    return {
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: onward\nVersion: {_version()}\n"
            "Summary: Gradient-based MCMC without the backward pass\nRequires-Python: >=3.9\nRequires-Dist: numpy\n"
            "Description-Content-Type: text/markdown\n\n"
        ).encode() + (ROOT / "README.md").read_bytes(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: onward\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n",
    }


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None) -> str:
    for place, contents in _metadata().items():
        path = pathlib.Path(metadata_directory, place)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(contents)
    return f"onward-{_version()}.dist-info"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    portable = str((config_settings or {}).get("portable", "")).lower() in ("1", "true", "yes")
    files = _metadata()
    for source in sorted((ROOT / "python" / "onward").iterdir()):
        if source.suffix in (".py", ".typed") or source.name == "py.typed":
            files[f"onward/{source.name}"] = source.read_bytes()
    for place, library in _libraries(portable).items():
        files[place] = library.read_bytes()
    record = f"onward-{_version()}.dist-info/RECORD"
    name = f"onward-{_version()}-py3-none-linux_x86_64.whl"
    lines = []
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for place, contents in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
            lines.append(f"{place},sha256={digest},{len(contents)}")
            wheel.writestr(place, contents)
        wheel.writestr(record, "\n".join([*lines, f"{record},,", ""]))
    return name


def build_sdist(sdist_directory, config_settings=None) -> str:
    name = f"onward-{_version()}"
    archive = os.path.join(sdist_directory, f"{name}.tar.gz")
    subprocess.run(["git", "-C", str(ROOT), "archive", f"--prefix={name}/", "-o", archive, "HEAD"], check=True)
    return f"{name}.tar.gz"
