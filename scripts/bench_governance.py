"""Time one governance cell in both readings against plain scikit-learn, in the same process.

Two references do the same work (split, partition, four fits, six proposals, both readings):

- `cached`: scikit-learn models, node scores of the validation rows computed once, numpy objective;
- `uncached`: the same, but the objective scores the nodes each time it is called.

    python scripts/bench_governance.py [--dataset nsl-kdd --data-dir PATH] [--alpha 0.3] [--repeats 3]

Ratios are medians over interleaved repeats; the uncached reference runs once. Exits with 1 when a ratio is
below its target or the numbers disagree.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from time import perf_counter

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.metrics import accuracy_score, f1_score
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import StandardScaler
from statsmodels.stats.contingency_tables import mcnemar
from threadpoolctl import threadpool_limits

from fedbayes.data import load_dataset
from fedbayes.experiments.governance_group import run_group
from fedbayes.experiments.governance_settings import READINGS, GovernanceSettings
from fedbayes.experiments.governance_split import partition_rows, split_rows
from fedbayes.federated.governance import icc_values
from fedbayes.federated.weight_learning import starting_points
from fedbayes.randomness import generator

TARGETS = {"cached": 1.8, "uncached": 6.0}


class Node:
    """One node's two scikit-learn models."""

    def __init__(self, dataset, rows):
        numbers, y = dataset.X_numeric[rows], dataset.y[rows]
        sizes = [count + 1 for count in dataset.n_categories]
        self.categorical = CategoricalNB(min_categories=sizes).fit(dataset.X_categorical[rows], y)
        self.scaler = StandardScaler().fit(numbers)
        self.gaussian = GaussianNB().fit(self.scaler.transform(numbers), y)
        self.classes = len(dataset.class_names)

    def score(self, codes, numbers, reading):
        """Scores (rows, classes) in either reading, as the paper forms them."""
        scaled = self.scaler.transform(numbers)
        prior = np.log(self.gaussian.class_prior_)
        if reading == "paper":
            found = (
                self.categorical.predict_log_proba(codes) + self.gaussian.predict_log_proba(scaled) - prior
            )
        else:
            joint = self.categorical.predict_joint_log_proba(codes)
            joint = joint + self.gaussian.predict_joint_log_proba(scaled) - prior
            found = joint - np.log(self.scaler.scale_).sum()
        scores = np.full((len(codes), self.classes), -np.inf)
        scores[:, self.gaussian.classes_] = found
        return scores


def mixture(scores, weights):
    highest = scores.max(axis=0)
    return log_softmax(np.log(np.tensordot(weights, np.exp(scores - highest), 1)) + highest, axis=1)


def floored(raw):
    weights = np.maximum(raw, 0)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(raw.size, 1 / raw.size)
    weights = np.maximum(weights, 0.05)
    return weights / weights.sum()


def learn(score_validation, y, target, penalty, starts, cached):
    """Five Nelder-Mead runs on the objective, as the paper describes them."""
    kept = score_validation() if cached else None

    def objective(raw):
        weights = floored(raw)
        scores = kept if cached else score_validation()
        losses = -mixture(scores, weights)[np.arange(len(y)), y]
        return losses.mean() + penalty * ((weights - target) ** 2).sum()

    options = {"maxiter": 500, "xatol": 1e-6, "fatol": 1e-8}
    results = [minimize(objective, start, method="Nelder-Mead", options=options) for start in starts]
    best = min(results, key=lambda result: result.fun)
    return floored(best.x), best.fun


def reference(dataset, alpha, seed, cached, readings=READINGS):
    """Objective of A, and macro-F1 of all proposals, per reading."""
    settings = GovernanceSettings()
    split = split_rows(dataset.y, seed)
    parts, _ = partition_rows(dataset.y[split.training], 3, alpha, seed)
    nodes = [Node(dataset, split.training[part]) for part in parts]
    central = Node(dataset, split.training)
    icc, sizes = icc_values(settings.nodes), np.array([part.size for part in parts])
    shares = np.array([np.bincount(dataset.y[split.training[part]]) / part.size for part in parts])
    entropies = -np.sum(shares * np.log(np.maximum(shares, 1e-300)), axis=1)
    target, turned = icc / icc.sum(), icc[::-1] / icc.sum()
    test = dataset.X_categorical[split.test], dataset.X_numeric[split.test]
    validation = dataset.X_categorical[split.validation], dataset.X_numeric[split.validation]
    truth, found = dataset.y[split.test], {}
    for reading in readings:

        def score_validation(reading=reading):
            return np.stack([node.score(*validation, reading) for node in nodes])

        weights = {"B": sizes / sizes.sum(), "E": 1 / (entropies + 1e-6) / np.sum(1 / (entropies + 1e-6))}
        objectives = {}
        for name, pull, penalty in (("A", target, 0.1), ("A0", target, 0.0), ("AR", turned, 0.1)):
            starts = starting_points(pull, generator(seed, "governance starts"))
            known = dataset.y[split.validation]
            weights[name], objectives[name] = learn(score_validation, known, pull, penalty, starts, cached)
        scores = np.stack([node.score(*test, reading) for node in nodes])
        posteriors = {name: mixture(scores, given) for name, given in weights.items()}
        posteriors["C"] = log_softmax(central.score(*test, reading), axis=1)
        labels = {name: posterior.argmax(axis=1) for name, posterior in posteriors.items()}
        for name, posterior in posteriors.items():
            losses = -posterior[np.arange(len(truth)), truth]
            losses.mean(), np.median(losses), accuracy_score(truth, labels[name])
            first, second = labels[name] == truth, labels["B"] == truth
            mcnemar([[np.sum(a & b) for b in (second, ~second)] for a in (first, ~first)], exact=False)
        found[reading] = (
            objectives["A"],
            {name: f1_score(truth, guess, average="macro") for name, guess in labels.items()},
        )
    return found


def timed(function, *arguments):
    started = perf_counter()
    result = function(*arguments)
    return result, perf_counter() - started


def agrees(ours, theirs):
    """Same F1 of the unlearned proposals, and an objective that is no worse."""
    same = True
    for reading, (objective, scores) in theirs.items():
        rows = {row["proposal"]: row for row in ours[reading].rows}
        same &= rows["A"]["objective"] <= objective + 1e-6
        same &= all(abs(rows[name]["macro_f1"] - scores[name]) < 1e-3 for name in ("B", "C", "E"))
    return bool(same)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="synthetic-flows")
    parser.add_argument("--data-dir")
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=RuntimeWarning)  # statsmodels, when nothing is discordant
    dataset = load_dataset(options.dataset, data_dir=options.data_dir)
    cell = {"clients": 3, "alpha": options.alpha, "seed": options.seed}

    def ours():
        return run_group(dataset, **cell)

    def cached():
        return reference(dataset, options.alpha, options.seed, True)

    ours()  # compile, or load what was compiled
    times: dict[str, list[float]] = {"fedbayes": [], "cached": []}
    for _ in range(options.repeats):
        result, seconds = timed(ours)
        times["fedbayes"].append(seconds)
        theirs, seconds = timed(cached)
        times["cached"].append(seconds)
    _, seconds = timed(reference, dataset, options.alpha, options.seed, False)
    times["uncached"] = [seconds]
    medians = {name: float(np.median(values)) for name, values in times.items()}
    print(
        f"{dataset.title}, {len(dataset.y)} rows, alpha {options.alpha:g}, seed {options.seed}, both readings"
    )
    for name, seconds in medians.items():
        print(f"  {name:<9} {seconds:8.2f} s")
    good = agrees(result, theirs)
    print(f"  numbers {'agree' if good else 'DISAGREE'}")
    for name, least in TARGETS.items():
        ratio = medians[name] / medians["fedbayes"]
        good &= ratio >= least
        print(
            f"  {ratio:6.1f} times faster than {name} (target {least:g}): {'ok' if ratio >= least else 'MISSED'}"
        )
    return 0 if good else 1


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
