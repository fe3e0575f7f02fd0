"""Claims of the FedAnDE paper's case study on Kr-vs-K."""

from __future__ import annotations

import numpy as np

from fedbayes.reporting.claims import NOT, NOT_TESTABLE, PARTLY, REPRODUCED, Claim
from fedbayes.reporting.fedande_evidence import (
    RELEASED_NOTE,
    Evidence,
    collect,
    order_steps,
    points,
    regime_pairs,
    share_claim,
)
from fedbayes.reporting.fedande_series import model_name

CASE = "kr-vs-k"


def kr_vs_k(evidence: Evidence) -> list[Claim]:
    """Claims of the case study."""
    section = "4.1, Kr-vs-K"
    few, many = evidence.ends
    orders = evidence.orders
    growing = [
        evidence.difference(
            [("federated", learner, high, c), ("local", learner, low, c)],
            [("local", learner, high, c), ("federated", learner, low, c)],
        )
        for learner in ("generative", "discriminative")
        for low, high in evidence.steps
        for c in evidence.clients
    ]
    falls = [
        evidence.difference([("federated", "generative", n, few)], [("federated", "generative", n, many)])
        for n in orders
    ]
    sturdier = [
        evidence.difference(
            [("federated", "generative", n, few), ("federated", "discriminative", n, many)],
            [("federated", "generative", n, many), ("federated", "discriminative", n, few)],
        )
        for n in orders
    ]
    only = {"needed": 1}
    return [
        share_claim(
            section,
            "A2DE consistently outperforms A1DE, which in turn outperforms NB",
            "Order n + 1 above order n, cells of C x step x learner x regime",
            collect(order_steps(evidence), [CASE]),
            RELEASED_NOTE,
            **only,
        ),
        share_claim(
            section,
            "Federated training provides large improvements over client-local baselines across all values of n",
            "Federated at least 5 points above local, cells of C x n x learner",
            collect(regime_pairs(evidence), [CASE]),
            margin=0.05,
            **only,
        ),
        share_claim(
            section,
            "the gains are larger for more complex models",
            "Federated minus local larger at order n + 1 than at n, cells of C x step x learner",
            collect(growing, [CASE]),
            **only,
        ),
        share_claim(
            section,
            "the generative variants show a clear drop as the number of clients increases",
            f"Federated generative accuracy falls by more than 2 points from {evidence.fewest} to {evidence.most}, cells of n",
            collect(falls if few != many else [], [CASE]),
            RELEASED_NOTE,
            margin=0.02,
            **only,
        ),
        _below_nb(evidence, section),
        _sharp_drop(evidence, section),
        share_claim(
            section,
            "the discriminative models remain more robust",
            f"Accuracy lost from {evidence.fewest} to {evidence.most} smaller for the federated discriminative than for the "
            "generative model, cells of n",
            collect(sturdier if few != many else [], [CASE]),
            RELEASED_NOTE,
            **only,
        ),
        _best_on_case(evidence, section),
    ]


def _levels(evidence: Evidence, learner: str, n: int) -> dict[int, float]:
    levels = {c: evidence.level(("federated", learner, n, c), CASE) for c in evidence.clients}
    return {c: level for c, level in levels.items() if not np.isnan(level)}


def _spell(levels: dict[int, float]) -> str:
    return ", ".join(f"{c}: {level:.3f}" for c, level in levels.items())


def _below_nb(evidence: Evidence, section: str) -> Claim:
    a1de, nb = _levels(evidence, "generative", 1), _levels(evidence, "generative", 0)
    shared = [c for c in a1de if c in nb]
    if len(shared) < 2:
        verdict, numbers = NOT_TESTABLE, "needs NB and A1DE at two numbers of clients or more"
    else:
        above, below = a1de[shared[0]] > nb[shared[0]], a1de[shared[-1]] < nb[shared[-1]]
        verdict = REPRODUCED if above and below else PARTLY if below else NOT
        numbers = f"A1DE at C = {_spell(a1de)}; NB at C = {_spell(nb)}"
    return Claim(
        section,
        "A1DE eventually performs worse than NB",
        "Federated generative A1DE above NB at the smallest C and below it at the largest: reproduced; below at the "
        "largest only: partly.",
        numbers,
        verdict,
        RELEASED_NOTE,
    )


def _sharp_drop(evidence: Evidence, section: str) -> Claim:
    levels = _levels(evidence, "generative", 2)
    early = [c for c in levels if c < 20]
    late = [c for c in levels if c >= 20]
    if not early or not late:
        verdict, numbers = NOT_TESTABLE, "needs A2DE at a C below 20 and at one from 20"
    else:
        before, start = levels[early[-1]], levels[early[0]]
        fall, fall_before = before - min(levels[c] for c in late), start - before
        sharp = fall > 0.1
        verdict = REPRODUCED if sharp and fall > 2 * fall_before else PARTLY if sharp else NOT
        numbers = f"A2DE at C = {_spell(levels)}: falls by {points(fall)[1:]} after C = {early[-1]}"
    return Claim(
        section,
        "A2DE suffers a sharp drop from 20 clients",
        "Federated generative A2DE loses more than 10 points after the last C below 20, and more than twice what it "
        "lost before: reproduced; the first alone: partly.",
        numbers,
        verdict,
        RELEASED_NOTE,
    )


def _best_on_case(evidence: Evidence, section: str) -> Claim:
    target = "discriminative", 2
    firsts = firsts_federated = 0
    cells = []
    for c in evidence.clients:
        levels = {
            (regime, learner, n): evidence.level((regime, learner, n, c), CASE)
            for regime in ("local", "federated")
            for learner in ("generative", "discriminative")
            for n in evidence.orders
        }
        levels = {series: level for series, level in levels.items() if not np.isnan(level)}
        if ("federated", *target) in levels:
            best = max(levels, key=levels.get)
            firsts += best == ("federated", *target)
            federated = {series: level for series, level in levels.items() if series[0] == "federated"}
            firsts_federated += max(federated, key=federated.get) == ("federated", *target)
            name = f"{model_name(best[1], best[2])} {best[0]}"
            ahead = "" if best == ("federated", *target) else f" ({name} {levels[best]:.3f})"
            cells.append(f"{c}: {levels['federated', *target]:.3f}{ahead}")
    verdict = NOT_TESTABLE
    if cells:
        verdict = REPRODUCED if firsts == len(cells) else PARTLY if 2 * firsts >= len(cells) else NOT
    return Claim(
        section,
        "with A2DE^w again achieving the best results",
        "Federated A2DEʷ the best of all series. Reproduced: at every C; partly: at half of them or more.",
        f"first at {firsts} of {len(cells)} values of C (better series in brackets): {'; '.join(cells)}; among the "
        f"federated series alone at {firsts_federated}"
        if cells
        else "no finished A2DEʷ rows",
        verdict,
    )
