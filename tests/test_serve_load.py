"""Thirty-two clients for twenty seconds: every answer right, refusals past capacity, steady memory, recovery.

`make stress` has three minutes of it, on a quiet machine, where the rate is compared with that of the engine alone.
"""

from __future__ import annotations

import json
import subprocess
import sys


def test_under_load_every_answer_is_right_and_a_crowd_is_refused() -> None:
    command = [sys.executable, "-m", "benchmarks.serve_load", "--seconds", "20", "--least-share", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["did_not_hold"] == []
    assert figures["equal"] == figures["answers"] > 0
