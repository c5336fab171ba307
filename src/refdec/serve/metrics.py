"""Figures of a running server for Prometheus: requests, texts, the queue, and the process itself.

They count and time; no text and no address of a client is in them.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

from refdec.serve.engine import Engine

SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)

__all__ = ["CONTENT_TYPE", "Metrics"]


class Metrics:
    """The figures of one server."""

    def __init__(self, engine: Engine) -> None:
        self._registry = CollectorRegistry()
        labels = ["path", "status"]
        self._requests = Counter("refdec_requests", "Requests by path and status.", labels, registry=self._registry)
        self._seconds = Histogram(
            "refdec_request_seconds", "Time of requests.", ["path"], buckets=SECONDS, registry=self._registry
        )
        self.flops = Counter("refdec_estimated_flops", "Work of accepted requests, estimated.", registry=self._registry)
        gauges = {
            "refdec_texts_waiting": ("Texts that wait for the models.", lambda: engine.waiting),
            "refdec_texts_under_way": ("Texts that the models work on.", lambda: engine.under_way),
            "refdec_texts_finished": ("Texts done since the start.", lambda: engine.finished),
            "refdec_texts_given_up": ("Texts that nobody waited for any more.", lambda: engine.given_up),
        }
        for name, (words, value) in gauges.items():
            Gauge(name, words, registry=self._registry).set_function(value)
        ProcessCollector(registry=self._registry)

    def count(self, path: str, status: int, seconds: float) -> None:
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def page(self) -> bytes:
        return generate_latest(self._registry)
