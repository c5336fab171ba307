"""Figures of the paper that refdec follows, to be read beside measured ones: West et al., ACL 2021.

Facts from its tables, in its own units, as printed. Where two of them disagree both figures stand, each in its table,
and a comment says so. Nothing here was measured with refdec.
"""

from __future__ import annotations

from refdec.errors import SettingsError
from refdec.evaluate.reports.report import Cell, ReportRow
from refdec.settings import did_you_mean

SOURCE = "West et al., ACL 2021"

Quoted = tuple[tuple[str, dict[str, float]], ...]


def _table(keys: str, rows: str) -> Quoted:
    """Lines of a name and one figure for each key, "-" where the paper has none."""
    names = keys.split()
    table = []
    for line in rows.strip().splitlines():
        system, *figures = line.strip().rsplit(maxsplit=len(names))
        table.append((system, {key: float(text) for key, text in zip(names, figures, strict=True) if text != "-"}))
    return tuple(table)


TABLES: dict[str, Quoted] = {
    # Table "quoratest": the Quora test split, 1,000 rows. Human is the share of fluent, consistent and novel outputs.
    # RD 45 has Human 61.1 here and 62.1 in "quora-human".
    "quora": _table(
        "sari bleu meteor terp human novelty",
        """
        Source     17.8  56.0  37.6 48.0    -  0.0
        Reference  91.9 100.0 100.0  0.0 71.7 43.9
        PG-IL      32.8  49.1  33.8 49.0 29.4 24.4
        DiPS       38.8  41.0  27.9 56.0 36.6 48.5
        BART       36.1  44.7  34.7 66.0 46.1 35.2
        MT         35.6  48.1  33.5 52.0 59.3 26.8
        R-VQVAE    27.2  43.6  32.3 60.0 33.5 26.2
        CGMH Top   32.3  42.0  28.2 59.0 27.0 27.6
        CGMH 30    33.9  40.9  27.5 60.0 31.5 29.7
        CGMH 45    32.6  33.8  23.4 65.0 15.8 44.5
        UPSA       34.0  36.6  26.7 70.0 37.8 44.4
        RD Top     29.0  49.9  33.9 52.0 27.5 20.8
        RD 30      40.0  46.8  32.2 57.0 63.2 30.0
        RD 45      38.6  39.9  28.9 65.0 61.1 45.0
        """,
    ),
    # Table "quoratest_aux": the same outputs. iBLEU is 0.9 BLEU - 0.1 BLEU against the source (alpha = 0.9).
    "quora-more": _table(
        "rouge1 rouge2 bleurt bertscore ibleu novelty",
        """
        Source     70.1  47.0  19.9  95.2 40.4  0.0
        Reference 100.0 100.0  99.3 100.0 84.4 43.9
        PG-IL      66.6  44.0  11.1  94.7 36.7 24.4
        DiPS       56.7  33.7 -29.5  92.7 31.8 48.5
        BART       63.6  41.6   9.6  94.4 33.8 35.2
        MT         64.7  39.8  16.7  94.8 35.9 26.8
        R-VQVAE    68.2  32.0  -7.6  93.2 31.9 26.2
        CGMH Top   55.6  29.6 -53.6  92.1 30.6 27.6
        CGMH 30    54.5  28.3 -58.9  91.9 29.8 29.7
        CGMH 45    48.5  22.1 -80.9  90.7 24.9 44.5
        UPSA       56.2  30.4 -44.5  90.7 27.3 44.4
        RD Top     65.8  42.3  15.3  94.8 37.0 20.8
        RD 30      62.1  38.0   7.7  94.2 35.1 30.0
        RD 45      56.8  31.1  -1.9  93.5 30.4 45.0
        """,
    ),
    # Table "combined_human", its Quora half: the share of outputs that raters found so. "novel" is theirs, not BLEU's.
    "quora-human": _table(
        "fluent consistent novel all-three",
        """
        Reference 98.7 78.3 94.0 71.7
        PG-IL     95.9 79.9 51.0 29.4
        DiPS      85.6 45.1 93.3 36.6
        BART      97.2 77.6 68.8 46.1
        MT        98.7 88.7 71.2 59.3
        R-VQVAE   84.2 76.3 60.3 33.5
        CGMH Top  79.4 43.1 85.6 27.0
        CGMH 30   78.8 37.9 96.4 31.5
        CGMH 45   71.6 19.9 98.5 15.8
        UPSA      84.4 46.7 91.6 37.8
        RD Top    98.0 84.6 43.5 27.5
        RD 30     98.7 75.3 88.2 63.2
        RD 45     97.5 67.3 95.3 62.1
        """,
    ),
    # Table "combined_human", its Twitter half. RD Top has a Novelty above 30 there, so it is RD 30 too.
    "twitter-human": _table(
        "fluent consistent novel all-three",
        """
        Reference 91.7 58.7 95.3 51.3
        MT        99.0 90.0 80.9 70.9
        R-VQVAE   65.3 44.0 94.3 32.3
        CGMH Top  71.9 48.8 82.6 27.8
        CGMH 30   67.2 35.8 92.0 25.1
        CGMH 45   51.5 20.9 96.3 13.5
        RD Top/30 98.7 70.9 76.3 46.5
        RD 45     98.0 64.5 92.6 56.9
        """,
    ),
    # Table "twitter_results_small", of the paper's body. The appendix ("twitter-more") has SARI 36.1 for RD 45, which
    # would leave it level with MT, and Novelty 45.7 for CGMH 45.
    "twitter": _table(
        "sari human novelty",
        """
        Source    13.6    -  0.0
        Reference 90.7 51.3 63.3
        MT        36.1 70.9 30.4
        R-VQVAE   31.1 32.3 40.4
        CGMH Top  32.7 27.8 25.5
        CGMH 30   33.2 25.1 30.1
        CGMH 45   31.8 13.5 45.2
        RD Top/30 31.4 46.5 37.0
        RD 45     36.4 56.9 45.3
        """,
    ),
    # Table "twitter_results", of the appendix; see "twitter" for where the two disagree. Its text says that RD Top has
    # the highest unsupervised BLEU, but CGMH Top has.
    "twitter-more": _table(
        "sari bleu meteor terp novelty",
        """
        Source    13.6  36.7  25.0 75.0  0.0
        Reference 90.7 100.0 100.0  0.0 63.3
        MT        36.1  29.4  22.1 80.0 30.4
        R-VQVAE   31.1  25.2  21.0 90.0 40.4
        CGMH Top  32.7  28.2  19.8 77.0 25.5
        CGMH 30   33.2  26.3  18.7 78.0 30.1
        CGMH 45   31.8  20.5  15.4 82.0 45.7
        RD Top/30 31.4  27.2  19.9 86.0 37.0
        RD 45     36.1  25.6  19.0 88.0 45.3
        """,
    ),
    # Table "anlg": raters' agreement that the hypothesis fits the first observation, the second, both, and overall.
    "anlg": _table(
        "o1 o2 o1_o2 all",
        """
        Human               86.3 89.1 85.1 84.4
        COMeT Emb + GPT2    69.3 60.1 56.4 56.3
        COMeT Txt + GPT2    68.9 54.8 51.9 50.6
        O1-O2-Only          69.2 57.7 54.3 53.8
        GPT2-Fixed          20.6 13.9 10.8 10.3
        DeLorean            48.7 24.6 23.6 22.5
        ILM                 45.9 27.3 25.3 25.0
        Reflective Decoding 53.4 51.7 42.4 41.9
        """,
    ),
    # Table "wmt18": the tau of `refdec.metrics.kendall` with people, segments. The caption takes cs for Chinese; it is
    # Czech.
    "wmt18": _table(
        "cs-en de-en et-en",
        """
        Reflective Score 0.357 0.490 0.364
        chrF+            0.288 0.479 0.332
        sentBLEU         0.233 0.415 0.285
        CharacTER        0.256 0.450 0.286
        BEER             0.295 0.481 0.341
        ITER             0.198 0.396 0.235
        RUSE             0.347 0.498 0.368
        chrF             0.288 0.479 0.328
        meteor++         0.270 0.457 0.329
        YiSi-1           0.319 0.488 0.351
        YiSi-0           0.301 0.474 0.330
        BLEND            0.322 0.492 0.354
        YiSi-1_srl       0.317 0.483 0.345
        UHH_TSKM         0.274 0.436 0.300
        """,
    ),
    # Table "quora_ablation_n_C": contexts sampled, six of them kept. Where RD Top is novel enough already, its row
    # stands for RD 30 and RD 45 too.
    "quora-contexts": _table(
        "contexts sari bleu meteor terp novelty",
        """
        RD Top 80 29.0 49.9 33.9 52.0 20.8
        RD Top 40 31.3 46.6 31.8 56.0 28.4
        RD Top 20 34.1 43.0 29.8 61.0 37.4
        RD Top  6 33.3 33.2 23.8 71.0 56.3
        RD 30  80 40.0 46.8 32.2 57.0 30.0
        RD 30  40 39.4 44.2 30.6 59.0 35.6
        RD 30  20 34.1 43.0 29.8 61.0 37.4
        RD 30   6 33.3 33.2 23.8 71.0 56.3
        RD 45  80 38.6 39.9 28.9 65.0 45.0
        RD 45  40 38.3 39.3 28.0 65.0 46.1
        RD 45  20 38.5 39.6 28.0 65.0 45.8
        RD 45   6 33.3 33.2 23.8 71.0 56.3
        """,
    ),
    # Table "quora_ablation_weights": learned weights against equal ones, all contexts kept. The last row is that of
    # RD Top with 40 contexts in "quora-contexts", figure by figure, so it looks like a slip: do not lean on it. The
    # paper's remark on how far Novelty falls from 6 to 10 contexts with equal weights rests on it.
    "quora-weights": _table(
        "contexts sari bleu meteor terp novelty",
        """
        RD Top                 6 33.3 33.2 23.8 71.0 56.3
        RD Top, equal weights  6 29.6 20.1 16.8 89.0 76.7
        RD Top                10 34.2 37.3 26.4 65.0 48.2
        RD Top, equal weights 10 31.3 46.6 31.8 56.0 28.4
        """,
    ),
}

LEARNED_FROM = {
    "supervised": ("PG-IL", "DiPS", "BART", "COMeT Emb + GPT2", "COMeT Txt + GPT2", "O1-O2-Only"),
    "bilingual data": ("MT",),
    "unsupervised": (
        *("R-VQVAE", "CGMH Top", "CGMH 30", "CGMH 45", "UPSA", "RD Top", "RD Top/30", "RD 30", "RD 45"),
        *("GPT2-Fixed", "DeLorean", "ILM", "Reflective Decoding"),
    ),
}
"""The systems as the paper sorts them; the others (source, people, metrics) learned nothing for the task."""


def quoted(table: str) -> Quoted:
    """The rows of a table by the name it has here."""
    if table not in TABLES:
        raise SettingsError(
            f"No table {table!r} is quoted{did_you_mean(table, TABLES)}. Quoted tables: {', '.join(TABLES)}."
        )
    return TABLES[table]


def quoted_rows(table: str, *more: str) -> tuple[ReportRow, ...]:
    """The same as rows of a report. Figures that further tables have of the same systems fill what the first leaves."""
    extra = [dict(quoted(name)) for name in more]
    rows = []
    for system, figures in quoted(table):
        merged: dict[str, float] = {}
        for part in (figures, *(table_figures.get(system, {}) for table_figures in extra)):
            merged = part | merged
        rows.append(
            ReportRow(system, {key: Cell(value) for key, value in merged.items()}, quoted=True, group=_group(system))
        )
    return tuple(rows)


def _group(system: str) -> str:
    return next((f"{SOURCE}: {kind}" for kind, systems in LEARNED_FROM.items() if system in systems), SOURCE)
