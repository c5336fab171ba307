"""Infill: the text before a gap and the text after it in, ranked fillings that explain both out.

A filling is good when it makes the text after the gap probable from before it, and the text before it probable
from behind (section "Abductive Reasoning" of the paper). Left to itself the method repeats the observations: the
ensemble was taught to say them, and a language model finds nothing more probable than what was said already. Three
rules prevent that. Generations do not repeat word sequences of the observations; a candidate that is mostly copied is
dropped; and a filling is credited only for words of the observations that it does not itself contain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from refdec.errors import InputError
from refdec.lm.direction import Direction
from refdec.lm.pair import Pair
from refdec.lm.protocol import LanguageModel
from refdec.lm.tokens import Ids
from refdec.reflect.ensemble import Ensemble
from refdec.reflect.schedule import on_both_sides, together
from refdec.reflect.scoring import fits, token_logprobs
from refdec.reflect.side import FramedIds, Side
from refdec.results import Explanation, Filling, InfillResult, Reason
from refdec.settings import InfillSettings
from refdec.tasks.candidates import Place, generate_candidates
from refdec.tasks.constraints import NONE, Constraints
from refdec.tasks.describe import Stage, check_size, contexts_of, refuse_endless, shown_contexts, silent, weigh
from refdec.tasks.extract import is_closed, sentence_runs, well_formed, word_runs
from refdec.tasks.frame import Frame
from refdec.tasks.reasons import explain_tokens
from refdec.tasks.signature import signature
from refdec.tasks.steer import Edge, NoRepeat
from refdec.text.cleaning import clean
from refdec.text.overlap import copies
from refdec.text.stems import stem
from refdec.text.words import bare_words

_BLANK = re.compile(r"\s*_{3,}\s*")


async def infill(
    pair: Pair,
    left: str,
    right: str,
    settings: InfillSettings,
    *,
    constraints: Constraints = NONE,
    explain: int = 0,
    stage: Stage = silent,
) -> InfillResult:
    """Fill the gap between two texts, one of which may be empty."""
    gap = _Gap.between(pair, left, right, settings)
    key, whole = f"{gap.left}\x1f{gap.right}", f"{gap.left} {gap.right}"
    expected = settings.tokens * 2 // 3  # the rest of a generation is the sentence that was cut off
    place = Place(pair, key, gap.framed, settings, constraints.on(whole), settings.tokens, expected)

    async def describe(side: Side) -> Ensemble:
        contexts = await contexts_of(side, gap.framed.all, whole.strip(), key, settings)
        # The entropy in the settings is that of a whole generation; the observations have another length.
        entropy = settings.entropy * len(gap.framed.all) / settings.tokens
        return await weigh(side, gap.framed, contexts, settings, entropy=entropy)

    def texts_in(ids: Ids, side: str) -> list[str]:
        return gap.candidates(pair.tokens.decode(ids), side, settings)

    def rules(edge: Edge) -> list[NoRepeat]:
        return [NoRepeat(edge, (gap.left, gap.right), settings.no_repeat)] if settings.no_repeat else []

    stage("sampling contexts")
    ensembles = await on_both_sides(pair, describe)
    stage("generating candidates")
    candidates = await generate_candidates(ensembles, place, texts_in, rules)
    stage(f"scoring {len(candidates.origins)} candidates")
    ranked = await _rank(pair, gap, candidates.origins, settings)
    contexts = shown_contexts(pair, ensembles)
    mark = signature("infill", pair, settings, constraints)
    explanation = None
    if explain:
        frame = Frame(f" {gap.left} " if gap.left else " ", f" {gap.right}" if gap.right else "")
        reasons = [Reason("", "nothing", 0.0, (0.0,) * len(contexts), ())]
        shown = ranked[:explain]
        for item, relative in zip(shown, await _fits(pair, gap, ensembles, shown), strict=True):
            label = "" if item.passes else "does not explain both"
            tokens = await explain_tokens(pair, ensembles, frame, item.text)
            reasons.append(Reason(item.text, label, item.score, relative, tokens))
        explanation = Explanation("infill", gap.left, gap.right, contexts, tuple(reasons), mark)
    return InfillResult(gap.left, gap.right, tuple(ranked), contexts, mark, candidates.rejected, explanation)


def split_blanks(text: str) -> list[str]:
    """The parts of a text around its blanks (three underscores or more), at least two of them."""
    parts = [part.strip() for part in _BLANK.split(text)]
    if len(parts) < 2:
        raise InputError("There is no ___ in the text. Mark the gap with three underscores, or give two texts.")
    if not any(parts):
        raise InputError("There is nothing but ___ in the text. Give some text before or after the gap.")
    if not all(parts[1:-1]):
        raise InputError("Two ___ stand next to each other. Put text between them, or use one.")
    return parts


def fits_sentences(before: str, after: str) -> bool:
    """Whether whole sentences fill the gap between two texts, and not words inside one."""
    ends = not before or before.rstrip("\"'”’)]").endswith((".", "!", "?", "…", ":"))
    begins = not after or not after.lstrip("\"'“‘([")[:1].islower()
    return ends and begins


@dataclass(frozen=True)
class _Gap:
    """The two observations, as text and as ids."""

    left: str
    right: str
    framed: FramedIds
    sentences: bool  # whether whole sentences fill the gap, or words inside one

    @classmethod
    def between(cls, pair: Pair, left: str, right: str, settings: InfillSettings) -> _Gap:
        if not (left.strip() or right.strip()):
            raise InputError("There is no text on either side of the gap. Give some before or after it.")
        before, after = (clean(text) if text.strip() else "" for text in (left, right))
        refuse_endless(pair, before + after)
        encode = pair.tokens.encode
        edge = "\n" if settings.frame == "paragraph" else " "
        framed = FramedIds(
            tuple(encode(edge + before)) if before else (),
            (),
            tuple(encode(" " + after + edge.strip(" "))) if after else (),
        )
        room = pair.window - settings.context_tokens - settings.tokens - 1
        if len(framed.all) > room:
            raise InputError(
                f"The texts around the gap have {len(framed.all)} tokens; with contexts of {settings.context_tokens} "
                f"and fillings of {settings.tokens} they may have {max(0, room)} with this pair. Leave out what is far "
                "from the gap."
            )
        check_size(pair, framed, settings, settings.tokens)
        return cls(before, after, framed, fits_sentences(before, after))

    def candidates(self, body: str, side: str, settings: InfillSettings) -> list[str]:
        """Fillings in a raw generation: of the right length, and no copies."""
        if self.sentences:
            runs = [run for run in sentence_runs(body, side)[-settings.sentences :] if is_closed(run)]
        else:
            runs = word_runs(body, side, settings.most_words)
        return [
            text
            for text in well_formed(runs, "" if self.sentences else "word")
            if settings.least_words <= len(text.split()) <= settings.most_words
            and not (settings.no_repeat and copies(text, (self.left, self.right)))
        ]


async def _fits(
    pair: Pair, gap: _Gap, ensembles: Sequence[Ensemble], fillings: Sequence[Filling]
) -> list[tuple[float, ...]]:
    """Log-probability of each kept context next to each filling, less that next to the empty hypothesis."""
    middles = _middles(pair, [item.text for item in fillings])
    framed = [gap.framed.left + middle + gap.framed.right for middle in middles]
    per_side = await together(fits(ensemble.side, ensemble.contexts, framed) for ensemble in ensembles)
    return [tuple(row) for row in torch.cat([side[1:] - side[0] for side in per_side], dim=1).tolist()]


def _middles(pair: Pair, texts: Sequence[str]) -> list[Ids]:
    """The ids of the empty hypothesis, which gains are measured against, and of texts in the gap."""
    return [(), *(tuple(pair.tokens.encode(" " + text)) for text in texts)]


async def _rank(pair: Pair, gap: _Gap, origins: dict[str, str], settings: InfillSettings) -> list[Filling]:
    """Every candidate with its gains; those that explain both observations first."""
    if not origins:
        return []
    texts = list(origins)
    middles = _middles(pair, texts)
    credited = [_credited(pair, text, gap, settings) for text in texts]

    async def gain(name: str, model: LanguageModel, near: Ids, far: Ids) -> list[float]:
        """What each filling adds to the log-probability of the observation on one side."""
        if not far:
            return [0.0] * len(texts)
        forward = model.direction is Direction.FORWARD
        prefixes = [model.direction.arrange(near + middle if forward else middle + near) for middle in middles]
        rows = await token_logprobs(model, prefixes, [model.direction.arrange(far)], [[0]] * len(prefixes))
        logprobs = torch.cat(rows).double()
        added = logprobs[1:] - logprobs[0]  # (texts, tokens), in reading order
        masks = torch.tensor([model.direction.arrange(mask[name]) for mask in credited])
        gains: list[float] = (added * masks).sum(1).tolist()
        return gains

    left, right = gap.framed.left, gap.framed.right
    gains = await together((gain("left", pair.backward, right, left), gain("right", pair.forward, left, right)))
    ranked = [
        Filling(
            text=text,
            score=left_gain + right_gain,
            passes=(left_gain > 0 or not gap.left) and (right_gain > 0 or not gap.right),
            left_gain=left_gain,
            right_gain=right_gain,
            side=origins[text],
        )
        for text, left_gain, right_gain in zip(texts, *gains, strict=True)
    ]
    return sorted(ranked, key=lambda item: (not item.passes, -item.score, item.text))


def _credited(pair: Pair, text: str, gap: _Gap, settings: InfillSettings) -> dict[str, list[bool]]:
    """For each token of the observations, in text order, whether a filling is credited for making it probable."""
    stems = {stem(word) for word in bare_words(text)} if settings.credit == "new" else set()
    observations = {"left": gap.framed.left, "right": gap.framed.right}
    return {name: _tokens_outside(pair, ids, stems) for name, ids in observations.items()}


def _tokens_outside(pair: Pair, ids: Sequence[int], stems: set[str]) -> list[bool]:
    """Which tokens belong to words with none of these stems."""
    text = pair.tokens.decode(ids)
    _, spans = pair.tokens.encode_with_spans(text)  # not token by token: several can spell one letter
    words = [
        match.span()
        for match in re.finditer(r"\w+(?:['’]\w+)*", text)
        if stem(match.group().lower().replace("’", "'")) in stems
    ]
    return [not any(begin < last and first < end for first, last in words) for begin, end in spans]
