"""The links of a study: each carries a signed token that names the study and opens one thing.

A rater's token opens that rater's forms, the admin's the progress and the answers. Tokens are signed with a secret that
stands in the file of the study alone, so whoever does not have the file can make none. Knows nothing of HTTP.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from itsdangerous import BadSignature, Signer

from refdec.serve.studies.store import Study

PREFIX = "studies"
"""Every address of a study begins with it."""

ADMIN: Literal["admin"] = "admin"
Holder = int | Literal["admin"]
"""A rater by number, or the admin."""


def token(study: Study, holder: Holder) -> str:
    return _signer(study).sign(f"{study.id}.{holder}").decode()


def study_named(token: str) -> str:
    """The id of the study that a token claims to be for."""
    return token.partition(".")[0]


def holder_of(study: Study, token: str) -> Holder | None:
    """Whom a token is for; None where it was not made for this study."""
    try:
        name, _, holder = _signer(study).unsign(token.encode("utf-8", "replace")).decode().partition(".")
    except BadSignature:
        return None
    if name != study.id:
        return None
    return ADMIN if holder == ADMIN else int(holder)


def rater_path(study: Study, rater: int) -> str:
    return f"{PREFIX}/rate/{token(study, rater)}"


def admin_path(study: Study) -> str:
    return f"{PREFIX}/progress/{token(study, ADMIN)}"


def _signer(study: Study) -> Signer:
    return Signer(study.secret, salt="refdec rating study", digest_method=hashlib.sha256)
