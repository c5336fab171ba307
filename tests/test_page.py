"""The page: whole by itself, harmless whatever the texts are, and with every number of the explanation."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest

from refdec.page import page
from refdec.results import Context, Explanation, Reason, Token

VOID = {"meta", "input", "br", "hr", "img", "link"}
SOURCE = "Is it worth learning a second language?"
HOSTILE = (
    """</script><script>alert(1)</script><img src="https://evil.example/x" onerror='alert(2)'> &amp; "q" ]]> <!--"""
)


class Document(HTMLParser):
    """Tags, attributes and text of a document whose tags must be balanced."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in <{tag}>"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["script"], ["style"]):
            self.text += data

    def by_class(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for _, attributes in self.tags if name in (attributes.get("class") or "").split()]


def tokens(text: str) -> tuple[Token, ...]:
    pieces = re.findall(r"\s*\S+", text)
    return tuple(Token(piece, 25.0 * index / max(1, len(pieces) - 1)) for index, piece in enumerate(pieces))


def explanation(
    left: int = 2, right: int = 3, candidates: int = 4, source: str = SOURCE, text: str = "Should one learn it"
) -> Explanation:
    contexts = [Context(f" after {k}, she said, and it was so.", "right", 0.8 / 2**k) for k in range(right)]
    contexts += [Context(f"before {k} they asked each other,", "left", 0.8 / 2**k) for k in range(left)]
    label = "source" if source else "nothing"
    reasons = [Reason(source, label, 0.0, (0.0,) * len(contexts), tokens(source))]
    for rank in range(candidates):
        fits = tuple(1.7 - 3.1 * rank - 0.37 * index for index in range(len(contexts)))
        words = f"{text} {rank}?"
        reasons.append(Reason(words, "", 1.25 - 2.5 * rank, fits, tokens(words)))
    task = "paraphrase" if source else "infill"
    return Explanation(task, "", "", tuple(contexts), tuple(reasons), "refdec:0.1.0|task:paraphrase|seed:0")


def hostile() -> Explanation:
    contexts = (Context(HOSTILE, "left", 1.0), Context(HOSTILE, "right", 1.0))
    words = (Token(HOSTILE, 3.0), Token(" " + HOSTILE, 0.0))
    reasons = (
        Reason(HOSTILE, HOSTILE, 0.0, (0.0, 0.0), words),
        Reason(HOSTILE + "!", HOSTILE, -1.0, (-1.0, 2.0), words),
        Reason(HOSTILE + "?", "", -1.0, (-1.0, 2.0), ()),
    )
    return Explanation(HOSTILE, HOSTILE, HOSTILE, contexts, reasons, HOSTILE)


@pytest.mark.parametrize(
    "items",
    [
        [explanation()],
        [explanation(left=0)],
        [explanation(left=0, right=0)],
        [explanation(left=17, right=16, candidates=40)],
        [explanation(candidates=0)],
        [explanation(source="")],
        [explanation(text="Donaudampfschiff" * 40 + " 👩‍👩‍👧‍👦 שלום مرحبا 这是 " + "and so on " * 200)],
        [hostile(), explanation(), hostile()],
        [],
    ],
)
def test_every_explanation_gives_a_well_formed_document_that_loads_nothing(items: list[Explanation]) -> None:
    html = page(items)
    document = Document(html)
    assert html.startswith("<!DOCTYPE html>")
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in document.tags}
    assert len([tag for tag, _ in document.tags if tag == "script"]) == 1
    for _, attributes in document.tags:
        assert not {"src", "action", "srcset", "data", "poster"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
        assert "url(" not in (attributes.get("style") or "")
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    names = [attributes["id"] for _, attributes in document.tags if "id" in attributes]
    assert len(names) == len(set(names))


def test_texts_are_shown_as_they_are_and_never_become_markup() -> None:
    html = page([hostile()])
    document = Document(html)
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "alert(" not in html[html.rindex("<script>") :]
    # Both contexts and both held texts in the picture, both contexts again in the table, and the words themselves.
    assert document.text.count(HOSTILE) >= 8


def test_only_its_own_script_may_run() -> None:
    policy = next(attributes["content"] for _, attributes in Document(page([])).tags if "http-equiv" in attributes)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/]+='", policy)


def test_every_context_candidate_and_number_is_there() -> None:
    item = explanation(left=9, right=8, candidates=5)
    document = Document(page([item]))
    for context in item.contexts:
        assert document.text.count(context.text.strip()) == 2  # in the picture and in the table
        assert f"{context.weight:.4f}" in document.text
    for reason in item.reasons:
        assert reason.text in document.text
        assert f"{reason.score:+z.2f}" in document.text
        for token in reason.tokens:
            assert f"{token.text.strip()} {token.surprise:.1f}" in document.text
    assert item.signature in document.text
    cells = [unescape(cell) for cell in re.findall(r'<td class="number" data-level="-?\d">([^<]*)</td>', page([item]))]
    chunks = [[reason.fits[:12] for reason in item.reasons], [reason.fits[12:] for reason in item.reasons]]
    assert cells == [f"{fit:+z.1f}" for chunk in chunks for fits in chunk for fit in fits]


def test_the_picture_shows_the_best_candidate_without_a_script() -> None:
    item = explanation()
    html = page([item])
    place = re.search(r'<span class="place">.*?</p>', html)
    assert place
    assert re.sub("<[^>]*>", "", place[0]) == item.reasons[1].text
    shown = dict(
        re.findall(r'data-index="(\d+)".*?<span class="fit"><i class="swatch"></i><b>([^<]*)</b>', html, flags=re.S)
    )
    assert shown == {str(index): f"{fit:+z.1f}" for index, fit in enumerate(item.reasons[1].fits)}
    assert len([tag for tag, attributes in Document(html).tags if tag == "input" and "checked" in attributes]) == 1


def test_ribbons_are_as_thick_as_the_weights() -> None:
    item = explanation(left=1, right=3)
    styles = [attributes["style"] for attributes in Document(page([item])).by_class("ribbon")]
    assert styles == ["--weight: 0.8000", "--weight: 0.5714", "--weight: 0.2857", "--weight: 0.1429"]  # of at most 1


def test_a_side_without_contexts_says_so() -> None:
    text = Document(page([explanation(left=0)])).text
    assert "No contexts before the text." in text
    assert "No contexts after the text." not in text


def test_the_empty_hypothesis_is_called_nothing() -> None:
    item = explanation(source="")
    item = Explanation("infill", "We went", "and slept.", item.contexts, item.reasons, item.signature)
    html = page([item])
    assert '<i class="nothing">nothing</i>' in html
    assert "nats against nothing" in html
    assert '<span class="held">We went </span>' in html
    assert '<span class="held"> and slept.</span>' in html


def test_several_explanations_can_be_navigated() -> None:
    document = Document(page([explanation(), explanation(source="Another text.")]))
    links = [attributes["href"] for tag, attributes in document.tags if tag == "a"]
    articles = [attributes["id"] for tag, attributes in document.tags if tag == "article"]
    assert links == [f"#{name}" for name in articles]
    assert not [tag for tag, _ in Document(page([explanation()])).tags if tag == "nav"]


def test_half_a_surrogate_pair_can_still_be_written() -> None:
    assert page([explanation(text="broken \ud83d")]).encode("utf-8")
