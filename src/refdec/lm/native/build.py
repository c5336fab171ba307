"""Compiling network.cpp, once for each set of instructions that it knows.

Run by the build of the package (hatch_build.py), and by hand: `python src/refdec/lm/native/build.py`. Where there is no
compiler, or another processor than x86-64, nothing is built, and refdec computes with torch instead.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "network.cpp"

COMMON = ("-O3", "-std=c++17", "-fPIC", "-shared", "-pthread", "-fno-math-errno", "-mavx2", "-mfma", "-Wno-psabi")
VARIANTS = {
    "avx512_vnni": ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512vnni"),
    "avx_vnni": ("-mavxvnni",),
    "avx2": (),
}
"""Compiler options for each set of instructions, the fastest first, by its name in /proc/cpuinfo."""


def library(variant: str) -> Path:
    return HERE / f"network-{variant}.so"


def digest() -> str:
    """Changes with the source, so that a library made of another one is noticed."""
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]


def build() -> list[Path]:
    """Compile all variants; returns the libraries, or none with a note why."""
    compiler = shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++") or shutil.which("clang++")
    if (platform.system(), platform.machine()) != ("Linux", "x86_64") or compiler is None:
        print("refdec: no C++ compiler for Linux on x86-64, so models on CPUs run in torch alone.", file=sys.stderr)
        return []
    built = []
    for variant, options in VARIANTS.items():
        target = library(variant)
        new = target.with_suffix(f".{os.getpid()}.so")  # put in place as a whole: the old one may be in use
        command = [compiler, *COMMON, *options, f'-DREFDEC_SOURCE="{digest()}"', str(SOURCE), "-o", str(new)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            new.replace(target)
            built.append(target)
        else:
            print(f"refdec: {variant} was not compiled:\n{done.stderr[-2000:]}", file=sys.stderr)
    return built


if __name__ == "__main__":
    for path in build():
        print(path)
