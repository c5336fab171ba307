"""HTML pages that stand alone: the look that all of them share, and the page of explanations."""

from refdec.page.explanations import page

__all__ = ["page"]
