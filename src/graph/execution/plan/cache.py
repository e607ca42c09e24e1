"""The plans that are kept: the most recently used ones, so that memory stays bounded."""

from collections.abc import Callable, Hashable

from graph.execution.plan.planning import Plan
from providers.bounded_map import BoundedMap


class PlanCache:
    """At most *most* plans; None stands for an operation that cannot be planned."""

    def __init__(self, most: int) -> None:
        self._plans: BoundedMap[Hashable, Plan | None] = BoundedMap(most)

    def __len__(self) -> int:
        return len(self._plans)

    def find(self, key: Hashable, make: Callable[[], Plan | None]) -> Plan | None:
        """Return the plan known as *key*, made now if it is not there."""
        try:
            plan = self._plans[key]
        except KeyError:
            plan = self._plans[key] = make()
        else:
            self._plans.move_to_end(key)
        return plan
