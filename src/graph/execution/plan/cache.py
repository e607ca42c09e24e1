"""The plans that are kept: the most recently used ones, so that memory stays bounded."""

from collections import OrderedDict
from collections.abc import Callable, Hashable

from graph.execution.plan.planning import Plan


class PlanCache:
    """At most *most* plans; None stands for an operation that cannot be planned."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._plans: OrderedDict[Hashable, Plan | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._plans)

    def find(self, key: Hashable, make: Callable[[], Plan | None]) -> Plan | None:
        """Return the plan known as *key*, made now if it is not there."""
        try:
            plan = self._plans[key]
        except KeyError:
            plan = self._plans[key] = make()
            if len(self._plans) > self._most:
                self._plans.popitem(last=False)
        else:
            self._plans.move_to_end(key)
        return plan
