"""Claims of section 4.1 of the FedAnDE paper about all data sets together."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedbayes.evaluation import wilcoxon_holm
from fedbayes.reporting.claims import NOT, NOT_TESTABLE, PARTLY, REPRODUCED, Claim
from fedbayes.reporting.fedande_evidence import (
    GENERAL,
    NOISE_NOTE,
    THETA_NOTE,
    Evidence,
    collect,
    gap_growth,
    judge,
    learner_pairs,
    order_steps,
    regime_pairs,
    share_claim,
)
from fedbayes.reporting.fedande_ranks import score_matrix
from fedbayes.reporting.tables import format_p


def results(evidence: Evidence) -> list[Claim]:
    """Claims of section 4.1 about all data sets."""
    few, many = evidence.ends
    grows = few != many
    nothing = pd.Series(dtype=float)
    section = "4.1 (i)"
    quote = "Federated training significantly improves performance compared to client-local models"
    claims = [
        significant_claim(evidence, learner, section, quote, note)
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
            f"Federated minus local larger at {evidence.most} than at {evidence.fewest}, cells of data set x learner x n",
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
            f"Accuracy at {evidence.most} below that at {evidence.fewest}, cells of data set x series",
            collect(falls),
        ),
        narrowing_claim(evidence, few, many),
        share_claim(
            "4.1",
            "generative approaches become more competitive in low-data regimes",
            f"Discriminative minus generative smaller at {evidence.most} than at {evidence.fewest}, cells of data set x n x regime",
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
        numbers += f"; Wilcoxon over data sets p {format_p(p) if p < 0.001 else '= ' + format_p(p)}"
        if verdict == REPRODUCED and p >= 0.05:
            verdict = PARTLY
    rule = (
        f"Federated above local, {learner} models, cells of data set x C x n. Reproduced: in at least 90 % of the cells, on average, and "
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
            ahead = "" if best == name else f" ({best} {means[best]:.3f})"
            levels.append(f"{clients}: {means[name]:.3f}{ahead}")
    if levels:
        verdict = REPRODUCED if first == len(levels) else PARTLY if 2 * first >= len(levels) else NOT
        numbers = (
            f"highest at {first} of {len(levels)} values of C (better series in brackets): {'; '.join(levels)}; "
            f"{len(block.datasets)} data sets"
        )
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
        f"Range of the models' accuracies at {evidence.most} below that at {evidence.fewest}, cells of data set x regime",
        collect(change),
    )
