"""The words that tables and figures of partial data must carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def is_partial(name: str, facts: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the manifest's facts call a data set a part or sample of the official data."""
    return name in facts and not facts[name].get("complete", True)


def title_of(
    name: str, facts: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str] | None = None
) -> str:
    """Title of a data set, followed by `(partial data)` where that is so."""
    title = (titles or {}).get(name) or facts.get(name, {}).get("title") or name
    return f"{title} (partial data)" if is_partial(name, facts) else title


def partial_note(datasets: Iterable[str], facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Sentence naming the data sets of partial data or unknown completeness; empty when all are complete."""
    names = list(dict.fromkeys(datasets))
    partial = [
        f"{name} ({facts[name]['rows']} rows)" if facts[name].get("rows") else name
        for name in names
        if is_partial(name, facts)
    ]
    unknown = [name for name in names if name not in facts]
    words = []
    if partial:
        words.append(f"Partial data: {', '.join(partial)} hold only a part or sample of the official rows.")
    if unknown:
        words.append(f"The manifest does not say whether the data of {', '.join(unknown)} are complete.")
    return " ".join(words)
