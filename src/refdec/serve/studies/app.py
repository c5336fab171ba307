"""Rating studies on their own: a small application that loads no language model.

`refdec study serve` runs it. An application that has other pages too includes `router` instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI, Request, Response
from starlette.middleware import Middleware

from refdec.serve.access import STUDIES
from refdec.serve.body import BoundedBody
from refdec.serve.headers import SafeHeaders
from refdec.serve.limits import Limits
from refdec.serve.studies.router import not_found, router
from refdec.serve.studies.store import Study
from refdec.serve.watch import Watch


def studies_app(studies: Sequence[Study], limits: Limits | None = None) -> FastAPI:
    """The application of these studies alone. Nothing is counted: raters are not watched."""
    limits = limits or Limits()
    app = FastAPI(
        title="refdec rating studies",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        middleware=[
            Middleware(SafeHeaders),
            Middleware(Watch, named=lambda _: STUDIES, count=lambda *_: None),
            Middleware(BoundedBody, limits=limits, forms=("/",)),
        ],
    )
    app.state.limits = limits
    app.include_router(router(studies))

    @app.exception_handler(404)
    def nowhere(request: Request, _: Exception) -> Response:
        return not_found(request)

    return app
