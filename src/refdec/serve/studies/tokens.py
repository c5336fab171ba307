"""The links of a study: each carries a signed token that names the study and opens one thing.

A rater's token opens that rater's forms, the admin's the progress and the answers. Tokens are signed with a secret that
stands in the file of the study alone, so whoever does not have the file can make none. Knows nothing of HTTP.
"""

from __future__ import annotations

from typing import Literal

from refdec.serve.access import STUDIES
from refdec.serve.signatures import signed, unsigned
from refdec.serve.studies.store import Study

PREFIX = STUDIES.strip("/")
PURPOSE = "refdec rating study"
ADMIN: Literal["admin"] = "admin"
Holder = int | Literal["admin"]
"""A rater by number, or the admin."""


def token(study: Study, holder: Holder) -> str:
    return signed(f"{study.id}.{holder}", study.secret, PURPOSE)


def study_named(token: str) -> str:
    """The id of the study that a token claims to be for."""
    return token.partition(".")[0]


def holder_of(study: Study, token: str) -> Holder | None:
    """Whom a token is for; None where it was not made for this study."""
    name, _, holder = (unsigned(token, study.secret, PURPOSE) or "").partition(".")
    if name != study.id:
        return None
    return ADMIN if holder == ADMIN else int(holder)


def rater_path(study: Study, rater: int) -> str:
    return f"{PREFIX}/rate/{token(study, rater)}"


def admin_path(study: Study) -> str:
    return f"{PREFIX}/progress/{token(study, ADMIN)}"
