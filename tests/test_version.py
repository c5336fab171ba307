"""The version that signatures carry: a release says its number, a checkout also says which commit it is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

import refdec
from refdec import InputError, Pair, ScoreSettings, version
from refdec.batch.manifest import Manifest
from refdec.evaluate.experiments.outputs import OutputFile, read_outputs
from refdec.tasks.signature import signature
from refdec.version import comparable

ROOT = Path(__file__).resolve().parent.parent


GIT = shutil.which("git")
DEVELOPMENT = f"{version.RELEASE}.dev0"


def git(home: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
    command = ["git", *identity, "-C", str(home), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory that looks like a repository, with the version module where the project has it."""
    home = tmp_path / "checkout"
    package = home / "src" / "refdec"
    package.mkdir(parents=True)
    shutil.copy(version.__file__, package / "version.py")
    (home / ".git").mkdir()
    return home


def version_of(home: Path) -> str:
    return version.find_version(home / "src" / "refdec")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("1d28291", f"{DEVELOPMENT}+g1d28291"),
        ("1d28291-dirty", f"{DEVELOPMENT}+g1d28291.dirty"),
        (f"v{version.RELEASE}-0-g1d28291", version.RELEASE),
        (f"v{version.RELEASE}-0-g1d28291-dirty", f"{DEVELOPMENT}+g1d28291.dirty"),
        (f"v{version.RELEASE}-3-g1d28291", f"{DEVELOPMENT}+g1d28291"),
    ],
)
def test_only_the_unchanged_commit_of_the_tag_is_the_release(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, answer: str, expected: str
) -> None:
    def describe(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, stdout=f"{answer}\n")

    monkeypatch.setattr(subprocess, "run", describe)
    assert version_of(checkout) == expected


def test_a_checkout_asks_git(checkout: Path) -> None:
    if GIT is None:
        assert version_of(checkout) == DEVELOPMENT
        return
    git(checkout, "init", "--quiet")
    git(checkout, "add", ".")
    git(checkout, "commit", "--quiet", "--message", "One")
    first = git(checkout, "rev-parse", "HEAD")
    assert re.fullmatch(rf"{re.escape(DEVELOPMENT)}\+g{first[:7]}[0-9a-f]*", version_of(checkout))
    git(checkout, "tag", f"v{version.RELEASE}")
    assert version_of(checkout) == version.RELEASE
    with (checkout / "src" / "refdec" / "version.py").open("a") as file:
        file.write("# changed\n")
    assert re.fullmatch(rf"{re.escape(DEVELOPMENT)}\+g{first[:7]}[0-9a-f]*\.dirty", version_of(checkout))
    git(checkout, "commit", "--quiet", "--all", "--message", "Two")
    assert version_of(checkout).startswith(f"{DEVELOPMENT}+g{git(checkout, 'rev-parse', 'HEAD')[:7]}")


def test_without_git_a_checkout_is_a_development_version(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert version_of(checkout) == DEVELOPMENT


def test_a_git_that_never_answers_is_not_waited_for(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, timeout: float, **__: object) -> None:
        raise subprocess.TimeoutExpired("git", timeout)

    monkeypatch.setattr(subprocess, "run", never)
    assert version_of(checkout) == DEVELOPMENT


def test_a_damaged_repository_is_a_development_version(checkout: Path) -> None:
    shutil.rmtree(checkout / ".git")
    (checkout / ".git").write_text("gitdir: nowhere\n")
    assert version_of(checkout) == DEVELOPMENT


@pytest.mark.parametrize("installed", ["0.1.0", "0.1.0.dev0+g1234567"])
def test_an_installed_wheel_says_what_it_was_built_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: str
) -> None:
    package, metadata = tmp_path / "refdec", tmp_path / f"refdec-{installed}.dist-info"
    package.mkdir()
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.4\nName: refdec\nVersion: {installed}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert version.find_version(package) == installed


def test_files_that_nothing_installed_are_a_development_version(tmp_path: Path) -> None:
    (tmp_path / "src" / "refdec").mkdir(parents=True)
    assert version_of(tmp_path) == DEVELOPMENT


def test_a_wheel_is_built_with_the_version_of_its_checkout() -> None:
    """The build asks the module that the program asks: hatchling runs it and takes `__version__`."""
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["version"]
    assert settings == {"source": "code", "path": "src/refdec/version.py"}
    names: dict[str, object] = {"__file__": str(ROOT / settings["path"]), "__name__": "version"}
    exec((ROOT / settings["path"]).read_text(encoding="utf-8"), names)
    assert names["__version__"] == version.find_version(ROOT / "src" / "refdec")


def test_the_package_and_the_command_say_the_same_version() -> None:
    command = [sys.executable, "-m", "refdec", "--version"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert printed == f"refdec, version {refdec.__version__}\n"


def test_a_signature_tells_a_checkout_from_a_release(pair: Pair) -> None:
    written = signature("score", pair, ScoreSettings()).split("|")[0]
    assert written == f"refdec:{refdec.__version__}"
    if GIT and (ROOT / ".git").exists():
        tags, commit = git(ROOT, "tag", "--points-at", "HEAD").split(), git(ROOT, "rev-parse", "--short", "HEAD")
        assert f"+g{commit}" in written or f"v{version.RELEASE}" in tags


def test_a_development_version_is_older_than_its_release() -> None:
    dirty = Version(f"{version.RELEASE}.dev0+g1234567.dirty")
    assert dirty < Version(version.RELEASE)
    assert str(dirty) == f"{version.RELEASE}.dev0+g1234567.dirty"


def test_results_of_two_commits_go_together_and_of_two_releases_do_not() -> None:
    work = "|task:paraphrase|pair:some-pair:eefa2b7e|torch:2.9.0+cpu|device:cpu"
    one, other = f"refdec:0.1.0.dev0+g1d28291{work}", f"refdec:0.1.0.dev0+g7e11831.dirty{work}"
    assert comparable(one) == comparable(other) == f"refdec:0.1.0.dev0{work}"
    assert comparable(f"refdec:0.1.0{work}") not in (comparable(one), comparable(f"refdec:0.2.0{work}"))


def test_outputs_are_continued_by_another_commit_and_not_by_another_release(tmp_path: Path) -> None:
    path, work = tmp_path / "rows.jsonl", "|task:paraphrase|seed:0"
    for row, commit in enumerate(("g1d28291", "g1d28291.dirty", "g7e11831")):
        with OutputFile(path, f"refdec:0.1.0.dev0+{commit}{work}", ["0", "1", "2"]) as file:
            file.append({"id": str(row), "output": "text"})
    assert [row["signature"][:25] for row in read_outputs(path).values()] == [
        "refdec:0.1.0.dev0+g1d2829",
        "refdec:0.1.0.dev0+g1d2829",
        "refdec:0.1.0.dev0+g7e1183",
    ]
    with pytest.raises(InputError, match=r"refdec is 0\.1\.0\.dev0 there and 0\.1\.0 here"):
        OutputFile(path, f"refdec:0.1.0{work}", ["0", "1", "2"])


def test_a_batch_is_continued_by_another_commit_and_not_by_another_release() -> None:
    manifest, work = Manifest({}, {}), "|task:paraphrase|device:cpu"
    assert manifest.made_by(f"refdec:0.1.0.dev0+g1d28291{work}")
    assert manifest.made_by(f"refdec:0.1.0.dev0+g1d28291.dirty{work}")
    assert len(manifest.signatures) == 2  # both are noted
    with pytest.raises(InputError, match=r'refdec was "0\.1\.0\.dev0" and is "0\.1\.0"'):
        manifest.made_by(f"refdec:0.1.0{work}")


def test_rows_of_a_pair_that_came_with_earlier_versions_are_refused_with_a_word_on_it() -> None:
    work = "refdec:0.1.0|task:paraphrase|pair:{}|device:cpu"
    manifest = Manifest({"contexts": 24}, {})
    assert manifest.made_by(work.format("pair-v0:eefa2b7e"))
    word = r"\. pair-v0 came with earlier versions of refdec, and this one has another pair\. "
    with pytest.raises(InputError, match=rf'pair was "pair-v0:eefa2b7e" and is "pair-v1:826482d6"{word}Go on'):
        manifest.made_by(work.format("pair-v1:826482d6"))
    with pytest.raises(InputError, match=rf"contexts was 24 and is 20{word}Give"):
        manifest.check(Manifest({"contexts": 20}, {}), Path("out.jsonl"))
    other = Manifest({}, {}, [work.format("other:1")])
    with pytest.raises(InputError, match=r'pair was "other:1" and is "other:2"\. Go on'):
        other.made_by(work.format("other:2"))
