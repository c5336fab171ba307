"""Where the page and its files are. The files are those of one folder, named by the program and never by a request."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates

from refdec.serve.page.forms import forms
from refdec.version import __version__

HERE = Path(__file__).parent
STATIC = StaticFiles(directory=HERE / "static")
"""Mounted at /static."""

_TEMPLATES = Jinja2Templates(directory=HERE / "templates")


def page_router() -> APIRouter:
    """The page at `/`."""
    router = APIRouter(include_in_schema=False)
    content = {"forms": forms(), "version": __version__}

    @router.get("/", response_class=HTMLResponse)
    async def page(request: Request) -> HTMLResponse:
        return _TEMPLATES.TemplateResponse(request, "index.html", content)

    return router
