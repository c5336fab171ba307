"""Optional packages that metrics and plots compute with."""

from __future__ import annotations

import importlib.util

from refdec.errors import ModelError

INSTALL = "pip install 'refdec[evaluate]'"


class MissingPackageError(ModelError):
    """A metric needs a package that is not installed."""

    def __init__(self, metric: str, package: str, verb: str = "needs") -> None:
        super().__init__(f"{metric} {verb} the package {package}, which is not installed: {INSTALL}.")
        self.need = f"{metric} {verb} {package}"


def require(metric: str, module: str, package: str = "", verb: str = "needs") -> None:
    """Refuse a metric whose package is missing; the package is named as its module unless told otherwise."""
    if importlib.util.find_spec(module) is None:
        raise MissingPackageError(metric, package or module, verb)
