"""The pages of rating studies: instructions, forms, the end, and for the admin progress and answers.

Plain HTML that works without scripts; templates escape every text. A link carries a token and opens that rater's pages
alone. Works inside any FastAPI app, and with no language model loaded.
"""

from __future__ import annotations

import io
import logging
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

from refdec.serve.headers import HEADERS, NOT_KEPT
from refdec.serve.studies.export import write_answers
from refdec.serve.studies.store import Form, RaterProgress, Study
from refdec.serve.studies.tokens import ADMIN, PREFIX, holder_of, rater_path, study_named

LOGGER = logging.getLogger(__name__)
LARGEST_BODY = 4096
"""Bytes of a form that is sent: a few short fields."""

PAGE_HEADERS = HEADERS | {"Cache-Control": NOT_KEPT, "X-Robots-Tag": "noindex"}
"""Every answer brings them, so that the pages are as safe inside another app."""

STATIC = {"study.css": "text/css", "study.js": "text/javascript", "study.svg": "image/svg+xml"}
EXPORTS: dict[str, str] = {"csv": "text/csv", "jsonl": "application/x-ndjson"}

_TEMPLATES = Environment(
    loader=PackageLoader("refdec.serve.studies"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class _Refused(Exception):  # noqa: N818
    """A page cannot be shown; a page that says why is shown instead."""

    def __init__(self, status: int, title: str, words: str) -> None:
        super().__init__(words)
        self.status, self.title, self.words = status, title, words


class _PageRoute(APIRoute):
    """A route that shows the reason as a page where it cannot show the page itself."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        handler = super().get_route_handler()

        async def shown(request: Request) -> Any:
            try:
                return await handler(request)
            except _Refused as refused:
                return _refusal(request, refused)

        return shown


@dataclass(frozen=True, slots=True)
class _Visit:
    """A rater who has opened their link."""

    study: Study
    token: str
    progress: RaterProgress

    @property
    def rater(self) -> int:
        return self.progress.id

    @property
    def name(self) -> str:
        return self.progress.name


def router(studies: Sequence[Study]) -> APIRouter:
    """The pages of these studies, all below /studies/: links carry tokens of their own, so no other gate is needed."""
    by_id = {study.id: study for study in studies}
    pages = APIRouter(prefix=f"/{PREFIX}", include_in_schema=False, route_class=_PageRoute)

    def visit(token: str) -> _Visit:
        study, holder = _holder(by_id, token)
        if holder == ADMIN:
            raise _unknown()
        if study.closed:
            raise _Refused(
                410, "This study is closed", f"Its last day was {study.closes}. Thank you for your interest."
            )
        progress = study.progress_of(holder)
        if progress is None:
            raise _unknown()
        return _Visit(study, token, progress)

    def admin(token: str) -> Study:
        study, holder = _holder(by_id, token)
        if holder != ADMIN:
            raise _unknown()
        return study

    @pages.get("/rate/{token}", name="study_start")
    def start(request: Request, token: str) -> Response:
        here = visit(token)
        return _page(request, "start.html", here=here, goes_on=here.study.first_open(here.rater))

    @pages.get("/rate/{token}/end", name="study_end")
    def end(request: Request, token: str) -> Response:
        here = visit(token)
        place = here.study.first_open(here.rater)
        if place is not None:
            return _go(request, "study_form", token=token, place=place)
        return _page(request, "end.html", here=here)

    @pages.get("/rate/{token}/{place:int}", name="study_form")
    def form(request: Request, token: str, place: int) -> Response:
        here = visit(token)
        shown = _form(here, place)
        goes_on = here.study.first_open(here.rater)
        if goes_on is not None and place > goes_on:
            return _go(request, "study_form", token=token, place=goes_on)
        return _form_page(request, here, shown)

    @pages.post("/rate/{token}/{place:int}")
    async def answer(request: Request, token: str, place: int) -> Response:
        fields = await _fields(request)
        return await run_in_threadpool(keep, request, token, place, fields)

    def keep(request: Request, token: str, place: int, fields: dict[str, str]) -> Response:
        here = visit(token)
        shown = _form(here, place)
        answers = {
            question.name: int(given)
            for question in here.study.task.questions
            if (given := fields.get(question.name, "")) in map(str, range(1, 1 + len(question.answers)))
        }
        if len(answers) < len(here.study.task.questions):
            tried = Form(shown.place, shown.total, shown.context, shown.words, answers)
            return _form_page(request, here, tried, status=422)
        try:
            here.study.answer(here.rater, place, answers)
        except sqlite3.Error as error:
            LOGGER.error("An answer could not be kept: %s", error)
            words = "Please go back and send them again in a minute, or tell whoever sent you the link."
            raise _Refused(503, "Your answers could not be kept", words) from None
        following = place + 1 if place < shown.total else here.study.first_open(here.rater)
        if following is None:
            return _go(request, "study_end", token=token)
        return _go(request, "study_form", token=token, place=following)

    @pages.get("/progress/{token}", name="study_progress")
    def progress(request: Request, token: str) -> Response:
        study = admin(token)
        base = str(request.url_for("study_start", token="-")).removesuffix(f"{PREFIX}/rate/-")
        raters = [(rater, base + rater_path(study, rater.id)) for rater in study.progress()]
        items, texts = study.size()
        return _page(request, "progress.html", study=study, token=token, raters=raters, items=items, texts=texts)

    @pages.get("/progress/{token}/answers.{ending}", name="study_answers")
    def answers(token: str, ending: str) -> Response:
        study = admin(token)
        if ending not in EXPORTS:
            raise _unknown()
        table = io.BytesIO()
        write_answers(table, ending, study)
        name = f'attachment; filename="answers-{study.id}.{ending}"'
        return Response(
            table.getvalue(), media_type=EXPORTS[ending], headers=PAGE_HEADERS | {"Content-Disposition": name}
        )

    @pages.get("/files/{name}", name="study_static")
    def static(name: str) -> Response:
        if name not in STATIC:
            raise _unknown()
        return Response(
            _static(name), media_type=STATIC[name], headers=PAGE_HEADERS | {"Cache-Control": "max-age=3600"}
        )

    @pages.get("/{_:path}")
    def elsewhere() -> Response:
        raise _unknown()

    return pages


def not_found(request: Request) -> Response:
    """The page for an address that leads nowhere."""
    return _refusal(request, _unknown())


def _holder(studies: dict[str, Study], token: str) -> tuple[Study, int | Literal["admin"]]:
    study = studies.get(study_named(token))
    holder = holder_of(study, token) if study else None
    if study is None or holder is None:
        raise _unknown()
    return study, holder


def _unknown() -> _Refused:
    words = (
        "Please copy the whole link that you were sent, up to its last sign. If it still fails, ask whoever sent it."
    )
    return _Refused(404, "This link does not lead anywhere", words)


def _form(here: _Visit, place: int) -> Form:
    form = here.study.form(here.rater, place)
    if form is None:
        raise _Refused(404, "There is no such page", "Open your link again; it leads to where you stopped.")
    return form


async def _fields(request: Request) -> dict[str, str]:
    """The fields of a form, the last of each name."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise _Refused(413, "That was too much", "A form has a few short answers. Please go back.")
    try:
        return {name: values[-1] for name, values in parse_qs(body.decode("ascii"), max_num_fields=50).items()}
    except ValueError:
        raise _Refused(400, "That was not a form", "Please go back and send your answers again.") from None


def _form_page(request: Request, here: _Visit, form: Form, status: int = 200) -> Response:
    task = here.study.task
    texts = [(title, form.context[name], False) for name, title in task.fields.items()]
    texts.insert(task.place, (task.rated, form.words, True))
    missing = [question for question in task.questions if question.name not in form.answers] if status == 422 else []
    return _page(request, "form.html", status, here=here, form=form, task=task, texts=texts, missing=missing)


def _page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    def url(name: str, /, **parts: Any) -> str:
        return request.url_for(name, **parts).path

    html = _TEMPLATES.get_template(template).render(url=url, **values)
    return HTMLResponse(html.encode("utf-8", "replace"), status, PAGE_HEADERS)


def _refusal(request: Request, refused: _Refused) -> Response:
    return _page(request, "refusal.html", refused.status, title=refused.title, words=refused.words)


def _go(request: Request, name: str, /, **parts: Any) -> Response:
    """To another page, by GET, so that going back in the browser sends nothing again."""
    return RedirectResponse(request.url_for(name, **parts).path, 303, PAGE_HEADERS)


@cache
def _static(name: str) -> bytes:
    ours = files("refdec.serve.studies").joinpath("static", name).read_bytes()
    if name != "study.css":
        return ours
    return files("refdec.page").joinpath("look.css").read_bytes() + ours
