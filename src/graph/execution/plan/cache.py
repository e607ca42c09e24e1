"""The least-recently-used cache of plans, which bounds their memory."""

from collections.abc import Callable, Hashable

from graph.execution.plan.planning import Plan
from providers.bounded_map import BoundedMap


class PlanCache:
    """At most *capacity* plans; None stands for an operation that cannot be planned."""

    def __init__(self, capacity: int) -> None:
        self._plans: BoundedMap[Hashable, Plan | None] = BoundedMap(capacity)

    def __len__(self) -> int:
        return len(self._plans)

    def get(self, key: Hashable) -> Plan | None:
        """Return the plan under *key*; None when there is none, or none can be made."""
        plan = self._plans.get(key)
        if plan is not None:
            self._plans.move_to_end(key)
        return plan

    def get_or_make(self, key: Hashable, make: Callable[[], Plan | None]) -> Plan | None:
        try:
            plan = self._plans[key]
        except KeyError:
            plan = self._plans[key] = make()
        else:
            self._plans.move_to_end(key)
        return plan
