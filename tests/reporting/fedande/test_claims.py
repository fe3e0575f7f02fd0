"""Claims are decided by the numbers: planted results give known verdicts."""

import numpy as np
import pandas as pd
import pytest

from fedbayes.reporting import fedande_claims, fedande_evidence
from fedbayes.reporting.fedande_published import TABLE_1
from fedbayes.reporting.fedande_series import build_study, complete_block

ALL = tuple(dataset.name for dataset in TABLE_1)


def evidence_of(runs):
    runs = runs.copy()
    runs["epsilon"] = pd.to_numeric(runs["epsilon"])
    study = build_study(runs, {})
    return fedande_evidence.Evidence(study, complete_block(study.main))


@pytest.fixture(scope="module")
def verdicts_of():
    def verdicts(runs, folder):
        evidence = evidence_of(runs)
        text = fedande_claims.write(folder, evidence.study, evidence.block).read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()]
        cells = [line.split(" | ") for line in lines]
        return [(cell[1], cell[2], cell[5].strip("*"), cell[4]) for cell in cells]

    return verdicts


def of(verdicts, words):
    found = [verdict for _, quote, verdict, _ in verdicts if words in quote]
    assert found, words
    return found


def planted(synthetic, change, **grid):
    """Results whose accuracy is `change(n, weighted, federated, clients, epsilon)` plus a small disturbance."""
    grid = {
        "datasets": ALL,
        "clients": (5, 20, 100),
        "orders": (0, 1, 2),
        "folds": 2,
        "epsilons": (1.0, np.inf),
    } | grid
    runs = synthetic.runs(**grid)
    rng = np.random.default_rng(0)
    runs["accuracy"] = [
        change(r.n, r.learner == "discriminative", r.regime == "federated", r.clients, r.epsilon)
        + 1e-4 * rng.standard_normal()
        for r in runs.itertuples(index=False)
    ]
    return runs


def test_a_world_as_the_paper_tells_it(synthetic, verdicts_of, tmp_path):
    def tell(n, weighted, federated, clients, epsilon):
        scarce = np.log2(clients / 5)
        value = 0.6 + 0.02 * n + 0.05 * weighted - 0.02 * scarce - 0.004 * scarce * n * (1 - federated)
        value += federated * (0.06 + 0.01 * scarce + 0.01 * n) - 0.004 * weighted * scarce
        return value - (0.012 + 0.002 * n if epsilon == 1.0 else 0.0)

    verdicts = verdicts_of(planted(synthetic, tell), tmp_path)
    for words in (
        "n ≥ 1 consistently outperform",
        "limited accuracy loss",
        "increasing n improves accuracy in federated",
        "Federated training significantly improves",
        "especially as the number of clients",
        "Discriminative models consistently outperform",
        "Increasing the dependency order",
        "more noticeable in federated learning",
        "highest accuracy across all federation levels",
        "performance naturally drops",
        "more competitive in low-data",
        "A2DE consistently outperforms A1DE",
        "large improvements over client-local",
        "A2DE^w again achieving",
        "All federated variants outperform",
        "matches or surpasses",
        "Generative models degrade due to the Laplace noise",
    ):
        assert set(of(verdicts, words)) == {"reproduced"}, words
    assert of(verdicts, "often peaking at intermediate") == ["not"]
    assert of(verdicts, "A1DE eventually performs worse") == ["not"]
    assert of(verdicts, "T = 10 rounds") == ["not testable here"]


def test_a_world_turned_around(synthetic, verdicts_of, tmp_path):
    def tell(n, weighted, federated, clients, epsilon):
        return 0.6 - 0.03 * n - 0.05 * weighted - 0.05 * federated + 0.01 * np.log2(clients) * federated

    verdicts = verdicts_of(planted(synthetic, tell), tmp_path)
    for words in ("n ≥ 1 consistently", "Discriminative models consistently", "Increasing the dependency order",
                  "highest accuracy across", "All federated variants", "A2DE^w again"):  # fmt: skip
        assert set(of(verdicts, words)) == {"not"}, words


def test_a_few_data_sets_decide_nothing_general(synthetic, verdicts_of, tmp_path):
    verdicts = verdicts_of(synthetic.runs(), tmp_path)
    assert len(verdicts) >= 30
    assert {verdict for _, _, verdict, _ in verdicts} == {"not testable here"}
    assert any("at least 6 data sets are needed" in numbers for _, _, _, numbers in verdicts)


def test_the_sharp_drop_of_the_case_study(synthetic, verdicts_of, tmp_path):
    levels = {(1, 5): 0.47, (1, 10): 0.46, (1, 20): 0.45, (1, 100): 0.28}
    levels |= {(2, 5): 0.57, (2, 10): 0.55, (2, 20): 0.39, (2, 100): 0.05}

    def tell(n, weighted, federated, clients, epsilon):
        return levels.get((n, clients), 0.34) if federated and not weighted else 0.3

    runs = planted(synthetic, tell, datasets=("kr-vs-k",), clients=(5, 10, 20, 100), epsilons=(1.0,))
    verdicts = verdicts_of(runs, tmp_path)
    assert of(verdicts, "A1DE eventually performs worse than NB") == ["reproduced"]
    assert of(verdicts, "A2DE suffers a sharp drop") == ["reproduced"]


def test_one_number_of_clients_is_not_compared_with_itself(synthetic, tmp_path):
    study = evidence_of(synthetic.runs(datasets=("car",), clients=(20,))).study
    text = fedande_claims.write(tmp_path, study, complete_block(study.main)).read_text(encoding="utf-8")
    assert "from the smallest C to the largest C" in text
    assert "C = 20 to C = 20" not in text and "C = 20 than at" not in text


def test_differences_are_matched_by_fold_and_seed(synthetic):
    runs = synthetic.runs(datasets=("car",), clients=(5,), orders=(0,), folds=3)
    local = (runs["regime"] == "local") & (runs["learner"] == "generative")
    federated = (runs["regime"] == "federated") & (runs["learner"] == "generative")
    runs.loc[local, "accuracy"] = [0.1, 0.2, 0.9]
    runs.loc[federated, "accuracy"] = [0.2, 0.4, 0.8]
    evidence = evidence_of(runs[~(federated & (runs["fold"] == 2))])
    plus, minus = ("federated", "generative", 0, 5), ("local", "generative", 0, 5)
    assert evidence.difference([plus], [minus])["car"] == pytest.approx(0.15)
    assert evidence.level(minus, "car") == pytest.approx(0.4)
    assert evidence.spread(plus, minus)["car"] == pytest.approx(np.std([0.1, 0.2], ddof=1))
    assert evidence.best([plus], [plus, minus])["car"] == pytest.approx(0.15)
    assert evidence.difference([("federated", "generative", 7, 5)], [minus]).empty


def test_judging():
    cells = pd.Series([0.1, 0.2, -0.01, 0.3], index=["a", "b", "c", "d"])
    assert fedande_evidence.judge(cells, needed=4).verdict == "partly"
    assert fedande_evidence.judge(cells, needed=4, reproduced=0.75).verdict == "reproduced"
    assert fedande_evidence.judge(cells, needed=4, margin=-0.02).verdict == "reproduced"
    assert fedande_evidence.judge(cells, needed=5).verdict == "not testable here"
    assert fedande_evidence.judge(-cells, needed=1).verdict == "not"
    tie = pd.Series([0.1 + 0.2 - 0.3], index=["a"])
    assert tie["a"] > 0 and fedande_evidence.judge(tie, needed=1).verdict == "not"
    assert fedande_evidence.judge(pd.Series(dtype=float)).verdict == "not testable here"
    outweighed = pd.Series([0.01] * 9 + [-1.0], index=list("abcdefghij"))
    assert fedande_evidence.judge(outweighed, needed=1).verdict == "partly"
    assert fedande_evidence.judge(outweighed, needed=1, mean=False).verdict == "reproduced"
    numbers = fedande_evidence.judge(cells, needed=1).numbers
    assert numbers == "holds in 3 of 4 cells (75 %), mean difference +14.8 points, 4 data sets"
