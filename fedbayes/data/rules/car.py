"""Car Evaluation: every combination of six properties, judged by a hierarchy of decision tables.

The hierarchy is the published one (M. Bohanec, V. Rajkovic: Knowledge acquisition and explanation for
multi-attribute decision making, 1988): the car's acceptability depends on its price (buying, maint) and on
its technical quality (comfort (doors, persons, lug_boot), safety). The tables are those that the 1728
published rows determine; the numbers of the intermediate values rise from worse to better.
"""

from ..table import Table
from .decision_tables import decide, full_product, make_table

DOMAINS = {
    "buying": ("vhigh", "high", "med", "low"),
    "maint": ("vhigh", "high", "med", "low"),
    "doors": ("2", "3", "4", "5more"),
    "persons": ("2", "4", "more"),
    "lug_boot": ("small", "med", "big"),
    "safety": ("low", "med", "high"),
}
CLASSES = ("unacc", "acc", "good", "vgood")

PRICE = ("0011", "0111", "1123", "1233")  # by buying, then maint
SEATS = ("012", "013", "033", "033")  # by doors, then persons
COMFORT = ("000", "112", "012", "122")  # by seats, then lug_boot
TECHNICAL = ("000", "012", "023")  # by comfort, then safety
CAR = ("0000", "0011", "0113", "0123")  # by price, then technical quality


def compute() -> Table:
    """Compute the 1728 rows."""
    car = full_product(DOMAINS)
    price = decide(PRICE, car["buying"], car["maint"])
    comfort = decide(COMFORT, decide(SEATS, car["doors"], car["persons"]), car["lug_boot"])
    technical = decide(TECHNICAL, comfort, car["safety"])
    return make_table("rules 'car'", DOMAINS, car, "class", CLASSES, decide(CAR, price, technical))
