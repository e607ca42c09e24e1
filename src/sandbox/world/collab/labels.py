"""The sensitivity labels of the demo world."""

from collections.abc import Mapping
from uuid import NAMESPACE_URL, uuid5

from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder

# name, color, whether it protects, whether it can still be put on something, the one above
_LABELS = (
    ("Public", "Green", False, True, ""),
    ("General", "Blue", False, True, ""),
    ("Confidential", "Orange", False, True, ""),
    ("Confidential - Yard", "Orange", False, True, "Confidential"),
    ("Confidential - Studio", "#C05621", True, True, "Confidential"),
    ("Highly confidential", "Red", True, True, ""),
    ("Secret (2019)", "Gray", False, False, ""),
)


def create_labels(make: ContentBuilder) -> Mapping[str, r.Label]:
    """Make the tenant's labels, by their names; the least sensitive first."""
    made: dict[str, r.Label] = {}
    for priority, (name, color, protects, active, above) in enumerate(_LABELS):
        made[name] = r.Label(
            id=str(uuid5(NAMESPACE_URL, f"label {name}")),
            name=name,
            description=f"For what is {name.lower()}.",
            tooltip=f"{name}: read the handbook, chapter {priority + 1}.",
            color=color,
            priority=priority,
            is_active=active,
            is_protecting=protects,
            parent=made[above].id if above else "",
        )
        make.add(made[name])
    return made
