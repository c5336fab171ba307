"""The page of the server: what a browser gets at `/`. It asks the HTTP API from there, like any other client."""

from refdec.serve.page.routes import STATIC, page_router

__all__ = ["STATIC", "page_router"]
