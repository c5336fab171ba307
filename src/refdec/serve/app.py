"""The HTTP application: its addresses, each a few lines, and what stands around all of them.

From the outside to the inside: the headers, the watch, the gate, the body, and then the addresses. What a request asks
for becomes pieces of work (`pieces.py`), which the engine works off (`engine.py`) and a delivery brings to the client.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates
from starlette.middleware import Middleware
from starlette.responses import Response

import refdec
from refdec.serve.access import COOKIE, SESSION_SECONDS, STUDIES, Gate, Key
from refdec.serve.answers import ANSWERS, Health, Models
from refdec.serve.body import BoundedBody, strict_route
from refdec.serve.delivery import Delivery, EventStream, Gone
from refdec.serve.engine import Engine
from refdec.serve.failures import STATUSES, Failure, JsonResponse, Refusal, failure_of, misshapen
from refdec.serve.headers import SafeHeaders
from refdec.serve.limits import Limits
from refdec.serve.metrics import CONTENT_TYPE, Metrics
from refdec.serve.page.forms import forms
from refdec.serve.pieces import (
    Pieces,
    diff_pieces,
    fingerprint_pieces,
    infill_pieces,
    paraphrase_pieces,
    rewrite_pieces,
    score_pieces,
)
from refdec.serve.requests import SessionRequest, request_models
from refdec.serve.watch import LEFT, OTHER, Watch
from refdec.settings import (
    PRESETS,
    FingerprintSettings,
    InfillSettings,
    ParaphraseSettings,
    RewriteSettings,
    ScoreSettings,
    default_preset,
)
from refdec.tasks.confidence import calibration
from refdec.tasks.reflector import Reflector

PAGE = Path(__file__).resolve().parent / "page"

TASKS: dict[str, tuple[str, Pieces]] = {
    "paraphrase": ("Ranked paraphrases of one or several texts.", paraphrase_pieces),
    "infill": ("Ranked fillings of a gap.", infill_pieces),
    "rewrite": ("Ranked rewritings of a span in its place.", rewrite_pieces),
    "score": ("How alike texts are: candidates against a reference.", score_pieces),
    "diff": ("What changed between two texts, word by word. No model is asked.", diff_pieces),
    "fingerprint": ("The contexts that describe a text, with their weights.", fingerprint_pieces),
}

EVENTS = {
    "schema": {
        "type": "object",
        "description": "One event of the stream. `data` is JSON: of `progress` index and stage, of `result` index and "
        "result, of `error` index (null for the whole request) and error, of `done` nothing.",
        "properties": {"event": {"enum": ["progress", "result", "error", "done"]}, "data": {"type": "string"}},
        "required": ["event", "data"],
    }
}


@dataclass(frozen=True)
class Service:
    """What the addresses work with."""

    reflector: Reflector
    limits: Limits
    engine: Engine
    metrics: Metrics
    key: Key | None


KINDS: tuple[type[FingerprintSettings], ...] = (
    ParaphraseSettings, InfillSettings, RewriteSettings, ScoreSettings, FingerprintSettings,
)  # fmt: skip


def create_app(
    reflector: Reflector, limits: Limits | None = None, *, key: str | None = None, studies: APIRouter | None = None
) -> FastAPI:
    """The application for one pair of models.

    With a key, nothing but the page and the studies opens without it. `studies` is a router for paths below /studies/,
    which checks a token of its own.
    """
    limits = limits or Limits.on(reflector.pair.forward.device.type)
    engine = Engine(reflector.pair, reflector.inputs_at_once(), limits.waiting)
    service = Service(reflector, limits, engine, Metrics(engine), None if key is None else Key(key))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        engine.start()
        yield
        await to_thread.run_sync(engine.close)

    app = FastAPI(
        title="refdec",
        version=refdec.__version__,
        description="Paraphrase, infill, rewrite and score with two language models that read in opposite directions.",
        docs_url=None,  # both load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        separate_input_output_schemas=False,
        middleware=[
            Middleware(SafeHeaders),
            Middleware(Watch, named=_named, count=service.metrics.count),
            Middleware(Gate, key=service.key),
            Middleware(BoundedBody, limits=limits, forms=(STUDIES,)),
        ],
    )
    app.router.route_class = strict_route(limits.depth)
    app.state.engine, app.state.limits = engine, limits
    for task, form in request_models(limits).items():
        _add_task(app, service, task, form)
    _add_figures(app, service)
    _add_page(app, service.key)
    if studies is not None:
        app.include_router(studies, include_in_schema=False)
    _add_failures(app)
    app.openapi = lambda: _document(app, service.key is not None)  # type: ignore[method-assign]
    return app


def _add_task(app: FastAPI, service: Service, task: str, form: type[Any]) -> None:
    words, pieces_of = TASKS[task]

    async def endpoint(request: Request, asked: Any) -> Any:
        service.engine.check_room()  # before anything is computed for it
        content = asked.model_dump()
        pieces = await to_thread.run_sync(pieces_of, service.reflector, service.limits, content)
        work = sum(piece.flops for piece in pieces)
        service.limits.check_work(work)
        delivery = Delivery(service.engine, pieces, service.limits.seconds)
        service.metrics.flops.inc(work)
        if content["stream"] or _wants_events(request):
            return EventStream(delivery)
        try:
            return JsonResponse({"results": await delivery.results(request.receive)})
        except Gone:
            return Response(status_code=LEFT)

    endpoint.__annotations__ |= {"request": Request, "asked": form, "return": Response}
    app.post(
        f"/v1/{task}",
        operation_id=task,
        summary=words,
        response_model=None,
        response_class=JsonResponse,
        responses={
            200: {"model": ANSWERS[task], "description": "the results", "content": {"text/event-stream": EVENTS}},
            **_refusals(400, 401, 408, 413, 415, 422, 429, 500, 503, 504),
        },
    )(endpoint)


def _add_figures(app: FastAPI, service: Service) -> None:
    @app.get("/health", response_model=Health, responses=_refusals(400, 503), summary="Whether the server works.")
    async def health() -> Any:
        engine = service.engine
        if not engine.is_running:
            raise Failure(503, "closing", "The engine is not running.", "Start the server again.")
        waiting = {"waiting": engine.waiting, "under_way": engine.under_way}
        return JsonResponse({"status": "ok", "version": refdec.__version__, **waiting})

    @app.get("/v1/models", response_model=Models, responses=_refusals(400, 401), summary="Models, presets and limits.")
    async def models() -> Any:
        return JsonResponse({"models": [_model(service.reflector, service.limits)]})

    @app.get(
        "/metrics",
        responses={
            200: {"description": "figures for Prometheus", "content": {"text/plain": {}}},
            **_refusals(400, 401),
        },
        response_class=Response,
        summary="Figures for Prometheus.",
    )
    async def figures() -> Any:
        return Response(service.metrics.page(), media_type=CONTENT_TYPE)


def _add_page(app: FastAPI, key: Key | None) -> None:
    @app.post(
        "/v1/session",
        status_code=204,
        response_model=None,
        responses=_refusals(400, 401, 408, 413, 415, 422),
        summary="Exchange the key for a cookie.",
        response_class=Response,
    )
    async def open_session(request: Request, asked: SessionRequest) -> Any:
        if key is not None and not key.is_right(asked.key):
            raise Failure(401, "key", "This is not the key of the server.", "Ask whoever started it.")
        response = Response(status_code=204)
        if key is not None:
            is_secure = request.url.scheme == "https"
            session = key.session(time.time())
            response.set_cookie(
                COOKIE, session, max_age=SESSION_SECONDS, httponly=True, samesite="strict", secure=is_secure
            )
        return response

    app.mount("/static", StaticFiles(directory=PAGE / "static"), name="static")
    templates = Jinja2Templates(directory=PAGE / "templates")
    templates.env.autoescape = True
    content = {"version": refdec.__version__, "forms": forms()}

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Any:
        return templates.TemplateResponse(request, "index.html", content)


def _add_failures(app: FastAPI) -> None:
    """Every error as JSON, with the status code that belongs to it."""

    async def refused(_: Request, error: Exception) -> Response:
        return failure_of(error).response()

    async def misread(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return misshapen(error.errors()).response()

    app.add_exception_handler(RequestValidationError, misread)
    for kind in (404, 405, Failure, refdec.RefdecError):
        app.add_exception_handler(kind, refused)


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: {"model": Refusal, "description": STATUSES[status]} for status in statuses}


def _wants_events(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def _model(reflector: Reflector, limits: Limits) -> dict[str, Any]:
    pair = reflector.pair
    device = pair.forward.device.type
    return {
        "name": pair.name,
        "precision": pair.precision,
        "device": device,
        "window": pair.window,
        "calibrated": calibration(pair.name) is not None,
        "defaults": {kind.task: default_preset(kind, device, pair.examples is not None) for kind in KINDS},
        "presets": {
            task: {name: dict(settings.items()) for name, settings in presets.items()}
            for task, presets in PRESETS.items()
        },
        "limits": dict(limits.items()),
    }


def _named(path: str) -> str:
    """The name of a path in log and metrics: tokens of studies, and what strangers try, are not in it."""
    if path.startswith(STUDIES):
        return STUDIES
    if path.startswith("/static/"):
        return "/static/"
    known = path in ("/", "/health", "/metrics", "/openapi.json", "/v1/models", "/v1/session")
    return path if known or path.removeprefix("/v1/") in TASKS else OTHER


def _document(app: FastAPI, has_key: bool) -> dict[str, Any]:
    """The OpenAPI document: with a key, it says how to send it."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        if has_key:
            document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            document["security"] = [{"key": []}]
            for path in ("/health", "/v1/session"):
                for operation in document["paths"][path].values():
                    operation["security"] = []
        app.openapi_schema = document
    return app.openapi_schema
