"""Signed words that a browser keeps for us: whoever lacks the secret can read them, but neither make nor change them.

The cookie of the page and the links of studies are such words. Knows nothing of what they say.
"""

from __future__ import annotations

import hashlib

from itsdangerous import BadSignature, Signer


def signed(words: str, secret: str, purpose: str) -> str:
    """The words with a signature, which is good for this purpose alone."""
    return _signer(secret, purpose).sign(words).decode()


def unsigned(given: str, secret: str, purpose: str) -> str | None:
    """The words that were signed; None where the signature is not ours, or for another purpose."""
    try:
        return _signer(secret, purpose).unsign(given.encode("utf-8", "replace")).decode()
    except BadSignature:
        return None


def _signer(secret: str, purpose: str) -> Signer:
    return Signer(secret, salt=purpose, digest_method=hashlib.sha256)
