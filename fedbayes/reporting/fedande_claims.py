"""Claims of the FedAnDE paper: abstract, introduction, section 4.1 and conclusions; the list of all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fedbayes.evaluation import wilcoxon_holm
from fedbayes.reporting.claims import NOT, NOT_TESTABLE, PARTLY, REPRODUCED, Claim, write_claims
from fedbayes.reporting.fedande_claims_cases import appendix, kr_vs_k
from fedbayes.reporting.fedande_evidence import (
    GENERAL,
    Evidence,
    collect,
    gap_growth,
    judge,
    learner_pairs,
    noise_loss,
    order_steps,
    points,
    regime_pairs,
    share_claim,
)
from fedbayes.reporting.fedande_ranks import score_matrix
from fedbayes.reporting.fedande_series import REPEAT, Block, Study
from fedbayes.reporting.partial import partial_note

THETA_NOTE = (
    "A weight multiplies the client's own log theta, which the method keeps private, so the mean of the weights is "
    "not a mean of like things."
)
NOISE_NOTE = (
    "Here every client's noise has the printed scale Δ/ε. The released code uses another scale for one client and "
    "1/ε for all others, which is far less noise."
)


def write(folder: Path, study: Study, block: Block) -> Path:
    """Write `CLAIMS.md`."""
    evidence = Evidence(study, block)
    claims = [
        *abstract(evidence),
        *introduction(evidence),
        *results(evidence),
        *kr_vs_k(evidence),
        *conclusions(evidence),
        *appendix(evidence),
    ]
    done = study.main
    preface = [
        'Every claim of the paper "Federated Learning of AnDE Classifiers", decided from `runs.csv` alone by the '
        "rule beside it. A cell is one combination of data set, number of clients C, order n, learner and regime, as "
        "far as the rule does not compare over them; both sides of a comparison use the same folds and seeds. "
        f"Claims about the data sets in general need at least {GENERAL} of them, else they are not testable here.",
        f"These results: {len(done)} finished rows of {done['dataset'].nunique()} data sets, C = "
        f"{_list(evidence.clients)}, n = {_list(evidence.orders)}, seeds {_list(sorted(done['seed'].unique()))}. "
        + block.note(),
        study.caption(),
        partial_note(study.datasets, study.facts),
    ]
    return write_claims(folder, claims, title="Claims of the FedAnDE paper", preface=preface)


def _list(values) -> str:
    return ", ".join(f"{value:g}" for value in values) or "none"


def abstract(evidence: Evidence) -> list[Claim]:
    """Claims of the abstract."""
    higher = [n for n in evidence.orders if n >= 1]
    over_nb = {
        learner: collect(
            evidence.difference([("federated", "discriminative", n, c)], [("federated", learner, 0, c)])
            for n in higher
            for c in evidence.clients
        )
        for learner in ("discriminative", "generative")
    }
    section = "Abstract"
    quote = "discriminative models with n ≥ 1 consistently outperform federated Naive Bayes (NB, n = 0)"
    return [
        share_claim(
            section,
            quote,
            "Federated AnDEʷ with n ≥ 1 above federated NBʷ, cells of data set x C x n",
            over_nb["discriminative"],
        ),
        share_claim(
            section,
            quote,
            "The same against the generative federated NB with noise",
            over_nb["generative"],
            NOISE_NOTE,
        ),
        share_claim(
            section,
            "privacy-preserving aggregation is effective with limited accuracy loss",
            "Federated generative accuracy with ε = 1 less than 2 points below that without noise, cells of data set "
            "x C x n",
            noise_loss(evidence.study),
            NOISE_NOTE,
            margin=-0.02,
        ),
        Claim(
            section,
            "federated training without transmitting semantically meaningful parameters, improving privacy",
            "Needs attacks on what is sent; accuracies cannot decide it.",
            "only weights are sent, by construction; what they reveal is not measured",
            NOT_TESTABLE,
        ),
    ]


def introduction(evidence: Evidence) -> list[Claim]:
    """Claims that only the introduction makes."""
    few, many = _ends(evidence)
    drops = collect(
        evidence.difference(
            [("federated", "generative", n, few), ("federated", "discriminative", n, many)],
            [("federated", "generative", n, many), ("federated", "discriminative", n, few)],
        )
        for n in evidence.orders
    )
    return [
        share_claim(
            "1 (i)",
            "increasing n improves accuracy in federated discriminative models",
            "Federated AnDEʷ of order n + 1 above order n, cells of data set x C x step",
            collect(order_steps(evidence, ["federated"], ["discriminative"])),
        ),
        share_claim(
            "1 (ii)",
            "the generative baseline suffers higher degradation [...] as the number of clients increases",
            f"Accuracy lost from C = {few} to C = {many} larger for the federated generative than for the "
            "discriminative model, cells of data set x n",
            drops if few != many else pd.Series(dtype=float),
            NOISE_NOTE,
        ),
    ]


def _ends(evidence: Evidence) -> tuple[int, int]:
    return (evidence.clients[0], evidence.clients[-1]) if evidence.clients else (0, 0)


def results(evidence: Evidence) -> list[Claim]:
    """Claims of section 4.1 about all data sets."""
    few, many = _ends(evidence)
    grows = few != many
    nothing = pd.Series(dtype=float)
    section = "4.1 (i)"
    quote = "Federated training significantly improves performance compared to client-local models"
    claims = [
        significant_claim(evidence, learner, section, f"{quote} ({learner})", note)
        for learner, note in (("discriminative", THETA_NOTE), ("generative", NOISE_NOTE))
    ]
    gains = [
        evidence.difference(
            [("federated", learner, evidence.orders[-1], c), ("local", learner, evidence.orders[0], c)],
            [("federated", learner, evidence.orders[0], c), ("local", learner, evidence.orders[-1], c)],
        )
        for learner in ("generative", "discriminative")
        for c in evidence.clients
        if len(evidence.orders) > 1
    ]
    series = [
        (r, ln, n)
        for r in ("local", "federated")
        for ln in ("generative", "discriminative")
        for n in evidence.orders
    ]
    falls = [evidence.difference([(*s, few)], [(*s, many)]) for s in series] if grows else []
    closing = [
        evidence.difference(
            [(regime, "discriminative", n, few), (regime, "generative", n, many)],
            [(regime, "generative", n, few), (regime, "discriminative", n, many)],
        )
        for regime in ("local", "federated")
        for n in evidence.orders
        if grows
    ]
    federated = {
        c: [("federated", ln, n, c) for ln in ("generative", "discriminative") for n in evidence.orders]
        for c in evidence.clients
    }
    leads = [
        evidence.best(
            [column for column in columns if column[1] == "discriminative" and column[2] >= 1], columns
        )
        for columns in federated.values()
        if len(evidence.orders) > 1
    ]
    return [
        *claims,
        share_claim(
            section,
            "especially as the number of clients increases",
            f"Federated minus local larger at C = {many} than at C = {few}, cells of data set x learner x n",
            collect(gap_growth(evidence, few, many)) if grows else nothing,
        ),
        share_claim(
            "4.1 (ii)",
            "Discriminative models consistently outperform generative ones",
            "Weighted above unweighted model of the same order and regime, cells of data set x C x n x regime",
            collect(learner_pairs(evidence, ["local", "federated"])),
        ),
        share_claim(
            "4.1 (iii)",
            "Increasing the dependency order improves accuracy [...] yields steady gains",
            "Order n + 1 above order n, cells of data set x C x step x learner x regime",
            collect(order_steps(evidence)),
        ),
        share_claim(
            "4.1 (iii)",
            "which are more noticeable in federated learning",
            "Gain from the lowest to the highest order larger in the federated than in the local models, cells of data "
            "set x C x learner",
            collect(gains),
        ),
        highest_claim(evidence),
        share_claim(
            "4.1",
            "As the number of clients increases [...] performance naturally drops",
            f"Accuracy at C = {many} below that at C = {few}, cells of data set x series",
            collect(falls),
        ),
        narrowing_claim(evidence, few, many),
        share_claim(
            "4.1",
            "generative approaches become more competitive in low-data regimes",
            f"Discriminative minus generative smaller at C = {many} than at C = {few}, cells of data set x n x regime",
            collect(closing),
        ),
        share_claim(
            "4.1",
            "higher-order discriminative models remain robust and consistently lead to overall accuracy",
            "Best of all federated models is discriminative with n ≥ 1, cells of data set x C",
            collect(leads),
        ),
    ]


def significant_claim(evidence: Evidence, learner: str, section: str, quote: str, note: str) -> Claim:
    """Federated above local in most cells and, averaged over C and n, significantly so over data sets."""
    cells = collect(regime_pairs(evidence, [learner]))
    finding = judge(cells)
    verdict, numbers = finding.verdict, finding.numbers
    if verdict != NOT_TESTABLE:
        means = cells.groupby(level=0).mean()
        p = wilcoxon_holm(np.column_stack([means, np.zeros(len(means))]))["p"].iloc[0]
        numbers += f"; Wilcoxon over data sets p = {p:.3f}"
        if verdict == REPRODUCED and p >= 0.05:
            verdict = PARTLY
    rule = (
        "Federated above local, cells of data set x C x n. Reproduced: in at least 90 % of the cells, on average, and "
        "with p < .05 in Wilcoxon's test over the data sets' means; partly: in more than 50 %."
    )
    return Claim(section, quote, rule, numbers, verdict, note)


def highest_claim(evidence: Evidence) -> Claim:
    """A2DE^w has the highest pooled accuracy at every number of clients."""
    block = evidence.block
    target = ("federated", "discriminative", 2)
    levels, first = [], 0
    if target in block.series and len(block.datasets) >= GENERAL:
        name = f"A2DEʷ {target[0]}"
        for clients in block.clients:
            means = score_matrix(block, clients).mean()
            means = means[[column for column in means.index if not column.endswith("centralised")]]
            best = means.idxmax()
            first += best == name
            levels.append(f"C = {clients}: {best} {means[best]:.3f}, A2DEʷ federated {means[name]:.3f}")
    if levels:
        verdict = REPRODUCED if first == len(levels) else PARTLY if 2 * first >= len(levels) else NOT
        numbers = f"highest at {first} of {len(levels)}: {'; '.join(levels)}; {len(block.datasets)} data sets"
    else:
        verdict = NOT_TESTABLE
        numbers = f"federated A2DEʷ is not complete on {GENERAL} data sets"
    return Claim(
        "4.1",
        "A2DE^w consistently achieves the highest accuracy across all federation levels",
        "Federated A2DEʷ has the highest mean over data sets of all series, local ones included. Reproduced: at every "
        "C; partly: at half of them or more.",
        numbers,
        verdict,
    )


def narrowing_claim(evidence: Evidence, few: int, many: int) -> Claim:
    """The range of the six models within a regime is smaller with many clients."""
    block = evidence.block
    change = []
    for regime in ("local", "federated"):
        wanted = [i for i, series in enumerate(block.series) if series[0] == regime]
        if few == many or len(wanted) < 2 or not {few, many} <= set(block.clients):
            continue
        spans = [
            np.ptp(score_matrix(block, clients).to_numpy()[:, wanted], axis=1) for clients in (few, many)
        ]
        change.append(pd.Series(spans[0] - spans[1], index=list(block.datasets)))
    return share_claim(
        "4.1",
        "and the gap between models narrows",
        f"Range of the models' accuracies at C = {many} below that at C = {few}, cells of data set x regime",
        collect(change),
    )


def conclusions(evidence: Evidence) -> list[Claim]:
    """Claims of section 5."""
    pairs = [
        evidence.difference([("federated", "discriminative", 2, c)], [("federated", "discriminative", n, c)])
        for n in (0, 1)
        for c in evidence.clients
    ]
    return [
        share_claim(
            "5",
            "discriminative models outperform their generative counterparts",
            "Federated weighted above federated unweighted model of the same order, cells of data set x C x n",
            collect(learner_pairs(evidence, ["federated"])),
            NOISE_NOTE,
        ),
        share_claim(
            "5",
            "n = 2 yielded the best accuracy",
            "Federated A2DEʷ above NBʷ and above A1DEʷ, cells of data set x C x opponent",
            collect(pairs),
        ),
        cost_claim(evidence.study),
        rounds_claim(evidence.study),
    ]


def cost_claim(study: Study) -> Claim:
    """Seconds of n = 2 over n = 1, and their growth with d."""
    rows = study.main[(study.main["regime"] == "federated") & (study.main["learner"] == "discriminative")]
    means = rows.groupby(["dataset", "clients", "n"])["fit_seconds"].mean().unstack("n")
    rule = (
        "Seconds to fit federated AnDEʷ, n = 2 over n = 1, averaged (geometric mean) over C. Reproduced: above 2 in at "
        "least 90 % of the data sets and growing with d (Spearman above .5); partly: one of both."
    )
    quote = "its combinatorial cost may limit scalability for large d"
    ratio = pd.Series(dtype=float)
    if {1, 2} <= set(means.columns):
        ratio = np.exp(np.log(means[2] / means[1]).groupby("dataset").mean()).dropna()
    if len(ratio) < GENERAL:
        return Claim("5", quote, rule, f"both orders timed on {len(ratio)} data sets", NOT_TESTABLE)
    attributes = study.runs.groupby("dataset")["attributes"].max()[ratio.index]
    correlation = ratio.corr(attributes, method="spearman") if ratio.nunique() > 1 else 0.0
    slower, grows = (ratio > 2).mean() >= 0.9, correlation > 0.5
    numbers = (
        f"ratio {ratio.min():.1f} to {ratio.max():.1f} (above 2 in {(ratio > 2).sum()} of {len(ratio)} data sets), "
        f"rank correlation with d {correlation:+.2f}"
    )
    verdict = REPRODUCED if slower and grows else PARTLY if slower or grows else NOT
    return Claim("5", quote, rule, numbers, verdict)


def rounds_claim(study: Study) -> Claim:
    """Accuracy with other rounds or local steps against T = 10, L = 5."""
    rows = study.runs
    rows = rows[
        (rows["status"] == "done")
        & (rows["shared"] == study.shared)
        & (rows["regime"] == "federated")
        & (rows["learner"] == "discriminative")
    ]
    wide = rows.pivot_table(index=["dataset", "clients", "n", *REPEAT], columns="own", values="accuracy")
    cells = []
    if "" in wide:
        for other in wide.columns.drop(""):
            cells.append((wide[other] - wide[""]).abs().groupby(["dataset", "clients", "n"]).mean().dropna())
    values = collect([0.01 - part.droplevel(["clients", "n"]) for part in cells])
    finding = judge(values)
    changes = pd.concat(cells) if cells else pd.Series(dtype=float)
    numbers = (
        f"changed by at most 1 point in {(changes <= 0.01).sum()} of {len(changes)} cells, at most "
        f"{points(changes.max())}"
        if len(changes)
        else "only one setting of T and L was run"
    )
    return Claim(
        "5",
        "L = 5 local steps and T = 10 rounds provided stable results",
        "Accuracy with other T or L within 1 point, cells of data set x C x n x setting. Reproduced: in at least 90 % of "
        "the cells; partly: in more than 50 %.",
        numbers,
        finding.verdict,
    )
