"""An HTML document that loads no other file and asks no host, in the look that all pages of the project share.

Knows nothing of what a page shows. The body is markup: its author escapes the texts in it.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files
from string import Template


def document(title: str, body: str, style: str, script: str) -> str:
    """The whole file. Nothing is loaded, and no script but this one runs."""
    look, frame = (files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("look.css", "frame.html"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Texts are escaped wherever they are written. Should one be missed, this still keeps it from running or loading.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    html = Template(frame).substitute(policy=policy, title=escape(title), style=look + style, body=body, script=script)
    return html.encode("utf-8", "replace").decode()  # half a surrogate pair could not be written to a file
