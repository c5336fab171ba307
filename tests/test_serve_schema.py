"""The OpenAPI document is true: what it allows is answered as it says, and what it does not is refused.

Requests are drawn by Schemathesis; no test here knows a field by its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from refdec import PRESETS, Reflector
from refdec.serve.app import create_app
from refdec.serve.limits import Limits
from tests.conftest import TINY
from tests.serving import KEY, REQUESTS, listening

BODIES = [*(f"/v1/{task}" for task in REQUESTS), "/v1/session"]
PATHS = [*BODIES, "/v1/models", "/health", "/metrics"]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
    ignored_auth,
]

EXAMPLES = settings(
    max_examples=40,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def schema(small_reflector: Reflector) -> Iterator[Any]:
    """The document of a server with small limits and tiny presets: a drawn request takes milliseconds."""
    with pytest.MonkeyPatch.context() as patched:
        for presets in PRESETS.values():
            for name, chosen in list(presets.items()):
                changes = {key: value for key, value in TINY.items() if key in chosen.names()}
                patched.setitem(presets, name, chosen.replace(**changes))
        limits = Limits(texts=3, characters=60, teraflops=0.0005)
        with listening(create_app(small_reflector, limits, key=KEY)) as (host, port):
            yield schemathesis.openapi.from_url(
                f"http://{host}:{port}/openapi.json", headers={"Authorization": f"Bearer {KEY}"}
            )


DRAWN = [(path, GenerationMode.POSITIVE) for path in PATHS] + [(path, GenerationMode.NEGATIVE) for path in BODIES]
"""A request without a body has no wrong form."""


@pytest.mark.parametrize(("path", "mode"), DRAWN, ids=lambda value: getattr(value, "value", value))
def test_drawn_requests_are_answered_as_the_document_says(schema: Any, path: str, mode: GenerationMode) -> None:
    method = "post" if path in BODIES else "get"

    @EXAMPLES
    @given(schema[path][method].as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        case.call_and_validate(checks=CHECKS, headers={"Authorization": f"Bearer {KEY}"})

    check()


def test_every_address_is_drawn_for(schema: Any) -> None:
    assert {operation.ok().path for operation in schema.get_all_operations()} == set(PATHS)
