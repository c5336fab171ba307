"""Rewrite: a span inside its true context in, ranked texts for its place out.

As a paraphrase, with two differences. The neighbours are held: contexts are sampled for the span as it stands after
its left neighbour, or before its right one, and candidates are judged there. And the true neighbour of each side
joins the sampled contexts of that side in the ensemble, and its fit joins the score.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from refdec.errors import InputError
from refdec.lm.pair import Pair
from refdec.lm.tokens import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.schedule import on_both_sides
from refdec.reflect.scoring import fits
from refdec.reflect.side import FramedIds, Side
from refdec.results import Paraphrase, RewriteResult
from refdec.settings import RewriteSettings
from refdec.tasks.candidates import Candidates, Place, generate_candidates
from refdec.tasks.constraints import NONE, Constraints
from refdec.tasks.describe import Stage, check_size, contexts_of, refuse_endless, silent, weigh
from refdec.tasks.extract import is_closed, sentence_runs, well_formed, word_runs
from refdec.tasks.faithful import faithful_candidates, faithful_first
from refdec.tasks.frame import FRAMES, Frame
from refdec.tasks.paraphrase import make_result
from refdec.tasks.ranking import race, ranked_paraphrases, standings
from refdec.tasks.reasons import explain_paraphrases
from refdec.tasks.signature import signature
from refdec.tasks.steer import Edge, NoRepeat
from refdec.tasks.verdict import with_changes, with_doubts
from refdec.text.cleaning import clean
from refdec.text.overlap import copies
from refdec.text.sentences import split_sentences

NEARBY = 1000
"""Characters of a neighbour that a rewriting must not repeat."""

EXTRA_WORDS = 3
"""Words by which a rewritten part of a sentence may be longer than the span."""


async def rewrite(
    pair: Pair,
    left: str,
    span: str,
    right: str,
    settings: RewriteSettings,
    *,
    constraints: Constraints = NONE,
    explain: int = 0,
    stage: Stage = silent,
) -> RewriteResult:
    """Rewrite a span between the text before it and the text after it, either of which may be empty."""
    spot = Spot.of(pair, left, span, right, settings)
    source, bare = spot.span, FramedIds((), spot.framed.middle, ())
    key, wanted, length = spot.frame.wrap(source), constraints.on(source), len(bare.middle)
    place = Place(pair, key, bare, settings, wanted, length + settings.extra_tokens, length)

    async def describe(side: Side) -> Ensemble:
        given = [spot.neighbour(side)] if spot.neighbour(side) else []
        held = round(settings.contexts * settings.in_place)
        sampled: dict[Ids, None] = {}
        for ids, address, count in (
            (spot.held(side, bare.middle), key, held),
            (bare.middle, source, settings.contexts - held),
        ):
            if count:
                part = settings.replace(contexts=count)
                sampled |= dict.fromkeys(await contexts_of(side, ids, source, address, part))
        share = settings.neighbour_weight
        return await weigh(side, bare, [*given, *sampled], settings, given=len(given), given_weight=share)

    def texts_in(ids: Ids, side: str) -> list[str]:
        return spot.candidates(pair.tokens.decode(ids), side)

    stage("sampling contexts")
    ensembles = await on_both_sides(pair, describe, settings.side_names)
    stage("generating candidates")
    if settings.echo and is_closed(source):
        candidates = spot.fitting(await faithful_candidates(pair, source, settings, wanted))
    else:  # an echo is of whole sentences
        candidates = await generate_candidates(ensembles, place, texts_in, _no_repeat)
    stage(f"scoring {len(candidates.origins)} candidates")
    ranked, source_score = await _rank(pair, spot, ensembles, candidates.origins, settings)
    ranked = with_changes(source, ranked)
    if settings.ledger:
        ranked = faithful_first(pair, source, ranked)
    ranked = with_doubts(source, ranked, settings)
    mark = signature("rewrite", pair, settings, constraints)
    reasons = await explain_paraphrases(pair, ensembles, FRAMES["none"], source, ranked, explain) if explain else ()
    ranking, neighbours = (source, source_score, ranked), {"left": spot.frame.before, "right": spot.frame.after}
    return make_result(RewriteResult, place, ensembles, candidates, ranking, mark, reasons, **neighbours)


def _no_repeat(edge: Edge) -> list[NoRepeat]:
    """Forbids sequences of three words that a rewriting already has: "It was over, and it was over"."""
    return [NoRepeat(edge, (), length=3)]


def split_document(document: str) -> tuple[str, str, str]:
    """The text before a span marked with [[ ]], the span, and the text after it."""
    before, opening, rest = document.partition("[[")
    span, closing, after = rest.partition("]]")
    if opening and not closing:
        raise InputError("The span has no end: there is [[ without ]]. Close it: It was [[very]] late.")
    if not opening and "]]" in document:
        raise InputError("The span has no beginning: there is ]] without [[. Open it: It was [[very]] late.")
    if not opening:
        raise InputError(
            "There is no span in [[ ]] in the document. Mark what is to be rewritten: It was [[very]] late."
        )
    if "[[" in after or "]]" in after or "[[" in span:
        raise InputError("There is more than one span in [[ ]]. Mark one at a time.")
    if not span.strip():
        raise InputError("There is nothing between [[ and ]]. Mark the words that are to be rewritten.")
    return _trimmed(before, span, after)


def find_span(document: str, span: str) -> tuple[str, str, str]:
    """The text before a span, the span, and the text after it, where it stands in a document exactly once."""
    times = document.count(span)
    if times != 1:
        how = "is not in the document" if times == 0 else f"is in the document {times} times"
        raise InputError(f"The span {span!r} {how}. Mark it with [[ ]] instead.")
    before, _, after = document.partition(span)
    return _trimmed(before, span, after)


def _trimmed(before: str, span: str, after: str) -> tuple[str, str, str]:
    """White space at the ends of a span belongs to its neighbours."""
    return before + span[: len(span) - len(span.lstrip())], span.strip(), span[len(span.rstrip()) :] + after


@dataclass(frozen=True)
class Spot:
    """A span in its place, as text and as ids; far neighbours are cut off where the models cannot read them."""

    span: str
    frame: Frame
    framed: FramedIds

    @classmethod
    def of(cls, pair: Pair, left: str, span: str, right: str, settings: RewriteSettings) -> Spot:
        source = clean(span)
        for text in (left, right):
            if text.strip():
                clean(text)
        refuse_endless(pair, source)
        before, after = _joined(left, right)
        frame = Frame(before, after)
        # Each part by itself, so that the span's full stop and the quote after it are no single token of both.
        middle = _encode(pair, frame, source)
        check_size(pair, FramedIds((), middle, ()), settings, settings.extra_tokens)
        reach = pair.tokens.longest * pair.window
        near = pair.tokens.encode(before.removesuffix(" ")[-reach:])
        far = pair.tokens.encode(after[:reach])
        room = (pair.window - settings.context_tokens - len(middle) - settings.extra_tokens) // 2
        return cls(source, frame, FramedIds(tuple(near[max(0, len(near) - room) :]), middle, tuple(far[:room])))

    def neighbour(self, side: Side) -> Ids:
        """The true context on a side."""
        return self.framed.right if side.name == "right" else self.framed.left

    def held(self, side: Side, middle: Ids) -> Ids:
        """A text in the span's place with the neighbour beyond it, as the outward model of a side reads it."""
        return self.framed.left + middle if side.name == "right" else middle + self.framed.right

    def candidates(self, body: str, side: str) -> list[str]:
        """Texts for the span's place: sentences where it is sentences, words where it is part of one."""
        if is_closed(self.span):
            most = len(split_sentences(self.span))
            runs = [run for run in sentence_runs(body, side)[-most:] if is_closed(run)]
        else:
            runs = word_runs(body, side, len(self.span.split()) + EXTRA_WORDS)
            if self.frame.after[:1] in tuple(",.;:!?"):
                runs = [run.rstrip(",.;:!?") for run in runs]
        return self._without_copies(well_formed([run for run in runs if run], self.span))

    def fitting(self, candidates: Candidates) -> Candidates:
        """Candidates without those that repeat the neighbours."""
        texts = self._without_copies(list(candidates.origins))
        return replace(candidates, origins={text: candidates.origins[text] for text in texts})

    def _without_copies(self, texts: list[str]) -> list[str]:
        """Texts that do not repeat the neighbours, unless the span itself does."""
        neighbours = (self.frame.before[-NEARBY:], self.frame.after[:NEARBY])
        repeats = copies(self.span, neighbours)
        return [text for text in texts if repeats or not copies(text, neighbours)]


def _encode(pair: Pair, frame: Frame, text: str) -> Ids:
    """A text in the place between neighbours; a space before it is written into its first token."""
    space = " " if not frame.before or frame.before.endswith(" ") else ""
    return tuple(pair.tokens.encode(space + text))


def _joined(left: str, right: str) -> tuple[str, str]:
    """The neighbours, each with a space towards the span where one belongs and is missing.

    None belongs after an opening bracket or quote, a hyphen or a slash.
    """
    if left and not re.search(r"(?:^|[\s(\[{])[\"']$|[\s(\[{<“‘«/-]$", left):
        left += " "
    if right and right[0].isalnum():
        right = " " + right
    return left, right


async def _rank(
    pair: Pair, spot: Spot, ensembles: Sequence[Ensemble], origins: Mapping[str, str], settings: RewriteSettings
) -> tuple[list[Paraphrase], float]:
    """Candidates, best first, by the fit of the sampled contexts (equation 3) and of the true neighbours."""

    async def fit(ensemble: Ensemble, contexts: Sequence[Ids], texts: Sequence[str]) -> torch.Tensor:
        side, true = ensemble.side, spot.neighbour(ensemble.side)
        held = [spot.held(side, alone[text]) for text in texts]
        sampled = [context for context in contexts if context != true]
        columns = dict(zip(sampled, (await fits(side, sampled, held)).T, strict=True))
        if true in contexts:
            columns[true] = (await fits(side, [true], held))[:, 0]
        return torch.stack([columns[ids] for ids in contexts], dim=1) if contexts else torch.empty(len(texts), 0)

    alone = {text: _encode(pair, spot.frame, text) for text in (spot.span, *origins)}
    standing = await standings(pair, alone, settings)
    texts, per_side = await race(list(alone), standing, ensembles, fit, settings.exact)
    totals = torch.zeros(len(texts), dtype=torch.float64)
    for ensemble, table in zip(ensembles, per_side, strict=True):
        is_true = torch.tensor([context == spot.neighbour(ensemble.side) for context in ensemble.contexts])
        if not is_true.all():
            totals += table[:, ~is_true].double().mean(1)
        totals += settings.place * table[:, is_true].double().sum(1)
    values: list[float] = totals.tolist()
    return ranked_paraphrases(texts, values, standing, per_side, origins), values[0]
