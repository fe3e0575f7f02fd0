"""Claims of a paper, each decided by a stated rule, as one Markdown table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from fedbayes.atomic_file import write_atomically
from fedbayes.reporting.tables import escape_markdown

REPRODUCED, PARTLY, NOT, NOT_TESTABLE = VERDICTS = ("reproduced", "partly", "not", "not testable here")


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper and what the results say about it."""

    section: str  # where it stands in the paper
    quote: str  # a few words of it, verbatim
    rule: str  # what decides it, with thresholds
    numbers: str  # our numbers, with the cells they rest on
    verdict: str  # one of VERDICTS
    note: str = ""  # what a reader should know beside the verdict

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {VERDICTS}, got {self.verdict!r}")


def verdict_of_share(share: float, reproduced: float = 0.9, partly: float = 0.5) -> str:
    """Verdict of a claim that holds in a share of cells: at least `reproduced`, above `partly`, or less."""
    if share != share:
        return NOT_TESTABLE
    return REPRODUCED if share >= reproduced else PARTLY if share > partly else NOT


def write_claims(
    folder: Path, claims: list[Claim], *, title: str, preface: list[str] | tuple[str, ...] = ()
) -> Path:
    """Write `CLAIMS.md` into `folder`: title, preface, count of verdicts, one numbered row a claim."""
    counts = Counter(claim.verdict for claim in claims)
    tally = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    lines = [f"# {title}", ""]
    for paragraph in preface:
        if paragraph:
            lines += [paragraph, ""]
    lines += [f"{len(claims)} claims: {tally}.", ""]
    lines += [
        "| No. | Section | Claim | Rule | Our numbers | Verdict | Note |",
        "| ---: | :--- | :--- | :--- | :--- | :--- | :--- |",
    ]
    for number, claim in enumerate(claims, start=1):
        cells = [claim.section, f'"{claim.quote}"', claim.rule, claim.numbers]
        text = " | ".join(escape_markdown(cell) for cell in cells)
        lines.append(f"| {number} | {text} | **{claim.verdict}** | {escape_markdown(claim.note)} |")
    return write_atomically(Path(folder) / "CLAIMS.md", "\n".join(lines) + "\n")
