import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score
from sklearn.metrics import log_loss as sklearn_log_loss

from fedbayes import evaluation


def test_labels_take_the_lowest_class_within_the_tolerance():
    proba = np.array([[0.5 - 4e-10, 0.5 + 4e-10], [0.5 - 1e-8, 0.5 + 1e-8], [0.2, 0.8]])
    assert evaluation.predict_labels(proba).tolist() == [0, 1, 1]
    assert evaluation.predict_labels(np.stack([proba, proba])).shape == (2, 3)


def test_measures_equal_scikit_learn():
    rng = np.random.default_rng(0)
    y, labels = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
    proba = rng.dirichlet(np.ones(4), 200)
    assert evaluation.accuracy(y, labels) == pytest.approx(accuracy_score(y, labels), abs=1e-15)
    for n_classes in (4, 6):
        expected = f1_score(y, labels, labels=range(n_classes), average="macro", zero_division=0)
        assert evaluation.macro_f1(y, labels, n_classes) == pytest.approx(expected, abs=1e-14)
    assert evaluation.log_loss(y, proba) == pytest.approx(sklearn_log_loss(y, proba), abs=1e-12)


def test_macro_f1_by_hand():
    # class 0: TP 1, FP 1, FN 0 -> 2/3; class 1: TP 1, FP 0, FN 1 -> 2/3; class 2 absent -> 0
    assert evaluation.macro_f1(np.array([0, 1, 1]), np.array([0, 0, 1]), 3) == pytest.approx(4 / 9)


def test_log_loss_is_clipped():
    proba = np.array([[0.0, 1.0], [1.0 + 1e-16, 0.0]])
    assert evaluation.log_loss(np.array([0, 0]), proba) == pytest.approx(-np.log(1e-15) / 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: evaluation.accuracy(np.array([]), np.array([])),
        lambda: evaluation.accuracy(np.array([1]), np.array([1, 2])),
        lambda: evaluation.macro_f1(np.array([0, 3]), np.array([0, 1]), 3),
        lambda: evaluation.log_loss(np.array([0]), np.ones((2, 2))),
        lambda: evaluation.mcnemar(1, 2, 3, 4, method="normal"),
        lambda: evaluation.mcnemar(1, -2, 3, 4),
        lambda: evaluation.friedman_nemenyi(np.ones((1, 3))),
        lambda: evaluation.wilcoxon_holm(np.array([[1.0, np.nan], [1.0, 2.0]])),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ValueError):
        call()


def test_mcnemar_by_hand():
    statistic, p = evaluation.mcnemar(50, 20, 8, 22)
    assert statistic == pytest.approx((abs(20 - 8) - 1) ** 2 / 28)
    assert p == pytest.approx(stats.chi2.sf(statistic, 1))
    statistic, p = evaluation.mcnemar(50, 20, 8, 22, method="exact")
    assert statistic == 8
    assert p == pytest.approx(stats.binomtest(8, 28).pvalue)
    half = stats.binomtest(8, 28).pvalue - stats.binom.pmf(8, 28, 0.5)
    assert evaluation.mcnemar(50, 20, 8, 22, method="mid-p") == (8.0, pytest.approx(half))


@pytest.mark.parametrize("method", ["yates", "exact", "mid-p"])
@pytest.mark.parametrize("discordant", [0, 3, 1000])
def test_mcnemar_with_equal_discordant_counts_has_no_evidence(method, discordant):
    assert evaluation.mcnemar(5, discordant, discordant, 5, method=method) == (0.0, 1.0)


def test_mcnemar_with_one_discordant_row_of_difference_is_zero_after_correction():
    assert evaluation.mcnemar(5, 4, 3, 5) == (0.0, 1.0)


def test_friedman_equals_scipy_with_and_without_ties():
    rng = np.random.default_rng(1)
    for decimals in (12, 1):
        scores = pd.DataFrame(
            np.round(rng.random((9, 4)) + np.array([0, 0.1, 0.3, 0.3]), decimals), columns=list("abcd")
        )
        result = evaluation.friedman_nemenyi(scores)
        expected = stats.friedmanchisquare(*scores.to_numpy().T)
        assert result.statistic == pytest.approx(expected.statistic)
        assert result.p == pytest.approx(expected.pvalue)
        assert result.average_ranks == pytest.approx(scores.rank(axis=1, ascending=False).mean().to_numpy())
        assert result.methods == ("a", "b", "c", "d")


def test_nemenyi_critical_difference_is_the_published_one():
    # Demšar (2006), table 5: q_.05 is 2.343 for three classifiers and 2.569 for four
    four = evaluation.friedman_nemenyi(np.random.default_rng(0).random((14, 4)))
    assert four.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)
    three = evaluation.friedman_nemenyi(np.random.default_rng(0).random((10, 3)))
    assert three.critical_difference == pytest.approx(2.343 * np.sqrt(12 / 60), abs=1e-3)


def test_friedman_at_the_edges():
    same = evaluation.friedman_nemenyi(np.ones((4, 3)))
    assert (same.statistic, same.p, same.average_ranks) == (0.0, 1.0, (2.0, 2.0, 2.0))
    perfect = evaluation.friedman_nemenyi(np.tile([3.0, 2.0, 1.0], (5, 1)))
    assert perfect.statistic == pytest.approx(10.0)
    assert perfect.iman_davenport == np.inf
    assert perfect.iman_davenport_p == 0.0
    two = evaluation.friedman_nemenyi(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [0.0, 3.0]]))
    assert two.statistic == pytest.approx(1.0)  # (3 - 1)^2 / 4: the sign test's chi-square


def test_wilcoxon_with_holm():
    rng = np.random.default_rng(2)
    scores = pd.DataFrame(rng.random((10, 3)) + np.array([0, 0.5, 0]), columns=["x", "y", "z"])
    table = evaluation.wilcoxon_holm(scores)
    assert table[["first", "second"]].to_numpy().tolist() == [["x", "y"], ["x", "z"], ["y", "z"]]
    expected = [stats.wilcoxon(scores[a], scores[b]).pvalue for a, b in (("x", "y"), ("x", "z"), ("y", "z"))]
    assert table["p"].to_numpy() == pytest.approx(expected)
    order = np.argsort(expected)
    holm = np.maximum.accumulate(np.minimum(np.array(expected)[order] * [3, 2, 1], 1.0))
    assert table["p_holm"].to_numpy()[order] == pytest.approx(holm)
    assert (table["wins"] + table["ties"] + table["losses"] == 10).all()
    same = evaluation.wilcoxon_holm(np.ones((5, 2)))
    assert same.loc[0, ["p", "p_holm", "ties"]].tolist() == [1.0, 1.0, 5]
