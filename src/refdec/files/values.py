"""Values of any kind as JSON values and as text, for formats that have no others. Knows no files."""

from __future__ import annotations

import base64
import datetime
import json
import math
import re
from collections.abc import Mapping
from typing import Any

HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair: no file can hold it

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def json_bytes(value: Any) -> bytes:
    try:
        return _encode(value).encode()
    except (TypeError, ValueError):  # the value, or one inside it, is not a JSON value
        return _encode(plain(value)).encode()


def text_of(value: Any) -> str:
    """A text as it is, null as nothing, a number as Python writes it, anything else as JSON."""
    if isinstance(value, float):
        return repr(value)
    json_value = plain(value)
    if json_value is None:
        return ""
    return json_value if isinstance(json_value, str) else _encode(json_value)


def plain(value: Any) -> Any:
    """The JSON value nearest to a value: dates and decimals as text, bytes as base64, NaN and infinity as null."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return HALF.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return _of_arrow(value) if hasattr(value, "as_py") else HALF.sub("\ufffd", str(value))


def _of_arrow(scalar: Any) -> Any:
    """A value of Parquet for which Python may have no type, such as a nanosecond or the year 12000."""
    import pyarrow as pa

    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.StructScalar):
        return {name: plain(item) for name, item in scalar.items()}
    if isinstance(scalar, pa.ListScalar | pa.LargeListScalar | pa.FixedSizeListScalar | pa.MapScalar):
        return [plain(item) for item in scalar.values]
    try:
        return plain(scalar.as_py())
    except (ValueError, OverflowError, LookupError):
        return scalar.cast(pa.string()).as_py()
