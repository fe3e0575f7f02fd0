"""The parts that both reports share: tables, figures, claims, words for partial data."""

import numpy as np
import pandas as pd
import pytest

from fedbayes import atomic_file
from fedbayes.reporting import claims, figures, partial, tables

GOLDEN = pd.DataFrame({"name": ["a_b & 50%", "x|y <br>"], "mean": [0.912345678901, np.nan], "count": [5, 12]})


def test_golden_table(tmp_path):
    csv, markdown, latex = tables.write_table(
        GOLDEN, tmp_path, "small", caption="A_1", notes=["", "See ± 2."]
    )
    assert csv == tmp_path / "tables" / "small.csv"
    assert csv.read_text() == "name,mean,count\na_b & 50%,0.912345678901,5\nx|y <br>,,12\n"
    assert markdown.read_text(encoding="utf-8") == (
        "**A_1**\n\n| name | mean | count |\n| :--- | ---: | ---: |\n| a_b & 50% | 0.9123 | 5 |\n"
        "| x\\|y \\<br> | – | 12 |\n\nSee ± 2.\n"
    )
    assert latex.read_text(encoding="utf-8").splitlines() == [
        r"{\footnotesize\setlength{\tabcolsep}{3pt}",
        r"\begin{longtable}{lrr}",
        r"\caption{A\_1}\label{tab:small} \\",
        r"\toprule",
        r"name & mean & count \\",
        r"\midrule",
        r"\endhead",
        r"a\_b \& 50\% & 0.9123 & 5 \\",
        r"x|y \textless{}br\textgreater{} & -- & 12 \\",
        r"\bottomrule",
        r"\multicolumn{3}{p{0.95\linewidth}}{\footnotesize See $\pm$ 2.} \\",
        r"\end{longtable}}",
    ]


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a_b", r"a\_b"),
        ("50% & $3 #1", r"50\% \& \$3 \#1"),
        ("{x}^2~\\", r"\{x\}\textasciicircum{}2\textasciitilde{}\textbackslash{}"),
        ("NBʷ ε ≥ 1\nnext", r"NB\textsuperscript{w} $\varepsilon$ $\geq$ 1 next"),
    ],
)
def test_latex_escaping(text, latex):
    assert tables.escape_latex(text) == latex


def test_numbers_as_text():
    assert tables.format_number(np.inf) == "∞"
    assert tables.format_number(None) == tables.format_number(pd.NA) == tables.format_number(np.nan) == "–"
    assert tables.format_number(np.float64(2)) == "2.0000"
    assert tables.format_number(np.int64(2)) == tables.format_number(2) == "2"
    assert tables.format_number(np.bool_(True)) == tables.format_number(True) == "yes"
    assert tables.format_mean_sd(0.5, np.nan) == "0.500"
    assert tables.format_mean_sd(0.5, 0.25) == "0.500 ± 0.250"
    assert (tables.format_p(0.0004), tables.format_p(0.0123)) == ("< .001", "0.012")


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    path = atomic_file.write_atomically(tmp_path / "deep" / "file.txt", "first\n")

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr(atomic_file.os, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        atomic_file.write_atomically(path, "second\n")
    assert path.read_text() == "first\n"
    assert list(path.parent.iterdir()) == [path]


def draw(folder):
    with figures.style():
        figure = figures.new_figure(2.0)
        left, right = figure.subplots(1, 2)
        left.plot([0, 1], [0, 1], label="A2DEʷ")
        figures.say_empty(right, "not run")
        figure.legend(loc="outside lower center")
        return figures.save_figure(figure, folder, "example", "A caption.")


def test_figures_are_equal_bytes_and_leave_settings_alone(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams.items())
    first, second = draw(tmp_path / "one"), draw(tmp_path / "two")
    assert [path.name for path in first] == ["example.png", "example.pdf", "example.md"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert b"CreationDate" not in first[1].read_bytes()
    assert "A caption." in first[2].read_text()
    assert dict(matplotlib.rcParams.items()) == before


def test_a_figure_that_cannot_be_drawn_leaves_a_word_and_no_old_picture(tmp_path):
    draw(tmp_path)
    (note,) = figures.explain_absence(tmp_path, "example", "no rows.")
    assert note.read_text() == "Not drawn: no rows.\n"
    assert list(note.parent.iterdir()) == [note]


def test_claims(tmp_path):
    assert [claims.verdict_of_share(share) for share in (0.9, 0.6, 0.5, np.nan)] == [
        "reproduced", "partly", "not", "not testable here",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="verdict"):
        claims.Claim("1", "q", "r", "n", "maybe")
    rows = [
        claims.Claim("4.1", "a | b", "above 50 %", "3 of 4", "partly", "note"),
        claims.Claim("5", "c", "d", "e", "not testable here"),
    ]
    text = claims.write_claims(tmp_path, rows, title="Claims", preface=["Why.", ""]).read_text()
    assert "2 claims: 0 reproduced, 1 partly, 0 not, 1 not testable here." in text
    assert '| 1 | 4.1 | "a \\| b" | above 50 % | 3 of 4 | **partly** | note |' in text


def test_words_for_partial_data():
    facts = {"a": {"complete": False, "rows": 10, "title": "A set"}, "b": {"complete": True}}
    assert partial.title_of("a", facts) == "A set (partial data)"
    assert partial.title_of("b", facts, {"b": "B set"}) == "B set"
    assert partial.partial_note(["b"], facts) == ""
    note = partial.partial_note(["a", "b", "c"], facts)
    assert note.startswith("Partial data: a (10 rows)")
    assert note.endswith("whether the data of c are complete.")
