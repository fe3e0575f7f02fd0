"""Nursery: every combination of eight answers, ranked by a hierarchy of decision tables.

The hierarchy is the published one (M. Olave, V. Rajkovic, M. Bohanec: An application for admission in public
school systems, 1989): the rank depends on employment (parents, has_nurs), on structure and finances
(structure (form, children), housing, finance) and on the social and health picture (social, health). The
tables are those that the 12960 published rows determine; intermediate values count from good to bad.
"""

from ..table import Table
from .decision_tables import decide, full_product, make_table

DOMAINS = {
    "parents": ("usual", "pretentious", "great_pret"),
    "has_nurs": ("proper", "less_proper", "improper", "critical", "very_crit"),
    "form": ("complete", "completed", "incomplete", "foster"),
    "children": ("1", "2", "3", "more"),
    "housing": ("convenient", "less_conv", "critical"),
    "finance": ("convenient", "inconv"),
    "social": ("nonprob", "slightly_prob", "problematic"),
    "health": ("recommended", "priority", "not_recom"),
}
CLASSES = ("not_recom", "recommend", "very_recom", "priority", "spec_prior")

EMPLOYMENT = ("01123", "11233", "22333")  # by parents, then has_nurs
STRUCTURE = ("0122", "1122", "1222", "2222")  # by form, then children
STRUCTURE_FINANCE = (  # by structure, then housing, then finance
    ((0, 1), (1, 1), (1, 1)),
    ((1, 1), (1, 1), (2, 2)),
    ((1, 2), (2, 2), (2, 2)),
)
SOCIAL_HEALTH = ("012", "012", "112")  # by social, then health
NURSERY = (  # by employment, then structure and finance, then social and health: index into CLASSES
    ((1, 3, 0), (2, 3, 0), (3, 3, 0)),
    ((2, 3, 0), (2, 3, 0), (3, 3, 0)),
    ((3, 3, 0), (3, 3, 0), (3, 4, 0)),
    ((3, 3, 0), (3, 4, 0), (4, 4, 0)),
)


def compute() -> Table:
    """Compute the 12960 rows."""
    child = full_product(DOMAINS)
    employment = decide(EMPLOYMENT, child["parents"], child["has_nurs"])
    structure = decide(STRUCTURE, child["form"], child["children"])
    finance = decide(STRUCTURE_FINANCE, structure, child["housing"], child["finance"])
    health = decide(SOCIAL_HEALTH, child["social"], child["health"])
    rank = decide(NURSERY, employment, finance, health)
    return make_table("rules 'nursery'", DOMAINS, child, "class", CLASSES, rank)
