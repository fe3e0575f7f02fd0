"""Compare freshly computed results with published ones, row by row.

Usage: python scripts/compare_published.py results/fedande results/published/fedande

Rows are matched by their key; timing columns are left out. Ends with 0 when every row that both folders hold is
equal, with 1 when numbers differ or nothing can be compared.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

from fedbayes.errors import FedbayesError
from fedbayes.result_frames import read_runs

KEYS = (("cell", "fold"), ("cell", "proposal"))
TIMINGS = ("fit_seconds", "predict_seconds")
TOLERANCE = 1e-9  # between machines; on one machine the numbers are the same to the last digit


def compare(ours: pd.DataFrame, published: pd.DataFrame) -> tuple[list[str], bool]:
    """Lines that say how two results agree, and whether all shared rows do."""
    key = list(KEYS[1] if "proposal" in ours.columns else KEYS[0])
    if set(key) - set(published.columns):
        return ["the two folders hold different experiments"], False
    ours, published = ours[ours["status"] == "done"], published[published["status"] == "done"]
    both = ours.merge(published, on=key, suffixes=("", "_published"))
    lines = [
        f"rows: {len(ours)} computed, {len(published)} published, {len(both)} in both, "
        f"{len(ours) - len(both)} only computed, {len(published) - len(both)} only published"
    ]
    if both.empty:
        return [*lines, "nothing to compare: no row stands in both"], False
    equal = True
    for column in ours.columns:
        if column in key or column in TIMINGS:
            continue
        first, second = both[column], both[f"{column}_published"]
        if pd.api.types.is_numeric_dtype(first) and pd.api.types.is_numeric_dtype(second):
            unlike = ((first - second).abs() > TOLERANCE * (1 + second.abs())) | (
                first.isna() != second.isna()
            )
            detail = f", at most {(first - second).abs().max():.3g}"
        else:
            unlike = first.fillna("").astype(str) != second.fillna("").astype(str)
            detail = ""
        if unlike.any():
            equal = False
            lines.append(f"  {column}: {int(unlike.sum())} rows differ{detail}")
    if equal:
        lines.append("all shared rows agree in every column but the timings")
    return lines, equal


def main() -> int:
    """Compare two result folders named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("computed", type=Path)
    parser.add_argument("published", type=Path)
    arguments = parser.parse_args()
    frames = []
    for folder in (arguments.computed, arguments.published):
        try:
            frames.append(read_runs(folder))
        except (OSError, ValueError, FedbayesError) as error:
            print(f"{folder}: no readable runs.csv ({error})", file=sys.stderr)
            return 1
    lines, equal = compare(*frames)
    print(f"{arguments.computed} against {arguments.published}")
    print("\n".join(lines))
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
