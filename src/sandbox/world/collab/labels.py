"""The sensitivity labels of the demo world."""

from collections.abc import Mapping
from uuid import NAMESPACE_URL, uuid5

from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder

# name, color, is protecting, is active, name of the parent
_LABELS = (
    ("Public", "Green", False, True, ""),
    ("General", "Blue", False, True, ""),
    ("Confidential", "Orange", False, True, ""),
    ("Confidential - Yard", "Orange", False, True, "Confidential"),
    ("Confidential - Studio", "#C05621", True, True, "Confidential"),
    ("Highly confidential", "Red", True, True, ""),
    ("Secret (2019)", "Gray", False, False, ""),
)


def create_labels(builder: ContentBuilder) -> Mapping[str, r.Label]:
    """Create the tenant's labels; return them by name, the least sensitive first."""
    labels: dict[str, r.Label] = {}
    for priority, (name, color, protects, active, parent) in enumerate(_LABELS):
        labels[name] = r.Label(
            id=str(uuid5(NAMESPACE_URL, f"label {name}")),
            name=name,
            description=f"For what is {name.lower()}.",
            tooltip=f"{name}: read the handbook, chapter {priority + 1}.",
            color=color,
            priority=priority,
            is_active=active,
            is_protecting=protects,
            parent=labels[parent].id if parent else "",
        )
        builder.add(labels[name])
    return labels
