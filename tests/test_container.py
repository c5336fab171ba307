"""The container files hold together: what they copy exists and travels, and what they start is a command."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from refdec.cli.main import commands

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILE = (ROOT / "container" / "Dockerfile").read_text().replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "container" / "compose.yaml").read_text())


def options_in(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("--")}


def test_what_is_copied_exists_and_travels_to_the_engine() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = [words.split()[:-1] for words in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.M)]
    for name in [name for names in copied for name in names]:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in ignored, name


def test_what_is_started_is_a_command_with_such_options() -> None:
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.M)
    program, command, *words = json.loads(entry)
    assert program == "refdec"
    known = {option for item in commands.commands[command].params for option in item.opts}
    assert known >= options_in(words)
    for service in COMPOSE["services"].values():
        assert known >= options_in(service["command"])


def test_both_variants_of_torch_are_pinned() -> None:
    assert re.search(r"^torch==[\d.]+$", (ROOT / "constraints.txt").read_text(), re.M)
    built = COMPOSE["services"]["refdec-cuda"]["build"]["args"]["TORCH"]
    page = (ROOT / "docs" / "serving.md").read_text()
    assert f"TORCH={built}" in DOCKERFILE
    assert f"TORCH={built}" in page


def test_compose_starts_without_privileges_and_with_a_secret_that_is_never_committed() -> None:
    for service in COMPOSE["services"].values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert "/run/secrets/api_key" in service["command"]
        assert (ROOT / "container" / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    assert COMPOSE["secrets"]["api_key"]["file"] == "./api-key"
    assert "/container/api-key" in (ROOT / ".gitignore").read_text().splitlines()


def test_the_user_of_the_image_is_not_root() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert "\nUSER refdec\n" in last
    assert shlex.split(last.partition("RUN useradd ")[2].splitlines()[0])[-1] == "refdec"
