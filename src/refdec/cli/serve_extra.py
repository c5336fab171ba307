"""Whether the packages of the extra `serve` are installed: commands that serve pages refuse early where one is not."""

from __future__ import annotations

from importlib.util import find_spec

from refdec.errors import InputError

PACKAGES = ("fastapi", "itsdangerous", "jinja2", "prometheus_client", "uvicorn")


def check_serve_extra(command: str) -> None:
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise InputError(f"{command} needs {', '.join(missing)}. Install with: pip install 'refdec[serve]'.")
