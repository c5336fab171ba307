"""Compiles the C++ code of the package when it is built or installed; see src/refdec/lm/native/build.py."""

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledCode(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        build = runpy.run_path(str(Path(self.root) / "src/refdec/lm/native/build.py"))["build"]
        if build():
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"  # called through ctypes: any Python will do
