"""
Plugin of pytest: leaves out the rows of provider B that there are for provider A as well.

Where other servers take the place of both, such rows ask the same of two mailboxes of one server.
"""

import re

_B = re.compile(r"(?<=provider[-_])b\b", re.IGNORECASE)


def pytest_collection_modifyitems(config, items):
    names = {item.nodeid for item in items}
    twins = [item for item in items if _twin(item.nodeid) in names]
    config.hook.pytest_deselected(items=twins)
    items[:] = [item for item in items if item not in twins]


def _twin(name):
    """Return the name of the row for provider A; None for a row that is not of provider B."""
    twin = _B.sub(lambda letter: "A" if letter[0] == "B" else "a", name)
    return None if twin == name else twin
