"""Caller: who is asking, and the one object every resolver puts its policy questions to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from policy import describe, gates
from policy.gates import Connection
from policy.grants import Grant
from policy.refusals import FieldNotVisible, NoUsableConnection
from policy.rules import RuleSet
from policy.vocabulary import Field, MaskMode, Operation, Surface

NOTHING_ALLOWED = RuleSet.compile((), allow_by_default=False)


@dataclass(frozen=True, kw_only=True)
class Caller:
    """
    An authenticated access token, with what it may do and the connections on its resources.

    Built once per request, at authentication. It is never changed and never outlives its request.

    Attributes:
        key_id: The token's displayable beginning; not a secret.
        policy_rev: Grows with every change that matters; compiled policy is kept under it.
        settings: The stored settings object, for display alone. Decisions read *grant*.
        rules: Layer 3 of the collab surface, compiled; without them nothing there is allowed.
        connections: Every connection on the token's resources, in any status, lowest id first.
    """

    token_id: int
    token_name: str
    key_id: str
    expires_at: datetime | None
    policy_rev: int
    operator_id: str
    grant: Grant
    settings: Mapping[str, object]
    connections: tuple[Connection, ...]
    rules: RuleSet = field(default=NOTHING_ALLOWED, repr=False)

    def admit(self, surface: Surface, *operations: Operation) -> None:
        """
        Run the layers that need no parameters; *operations* are alternatives.

        Raises:
            Refusal: The first layer that refuses (decisions 2, steps 4 to 6).
        """
        gates.admit(gates.AccessRequest(surface, operations), self.grant, self.connections)

    def allows(self, operation: Operation) -> bool:
        """Say whether the token has the flag of *operation*."""
        return gates.allows(self.grant, operation)

    def usable_connections(self, surface: Surface) -> tuple[Connection, ...]:
        """
        Return the connections that may be used, lowest id first (decisions 2, step 8).

        Raises:
            NoUsableConnection: Every one is inactive, or excluded by `allowedConnectionIds`.
        """
        found = tuple(
            connection
            for connection in self.connections
            if connection.kind == surface
            and connection.status == "active"
            and not self.excludes(connection)
        )
        if not found:
            raise NoUsableConnection(surface)
        return found

    def excludes(self, connection: Connection) -> bool:
        """Say whether `allowedConnectionIds` leaves *connection* out."""
        allowed = self.grant.connection_ids
        return allowed is not None and connection.id not in allowed

    def hides(self, field: Field) -> bool:
        """Say whether the token may not see what *field*, a mask word of its surface, controls."""
        return not self.grant.sees(field)

    @property
    def strict(self) -> bool:
        """Whether the side doors of decisions 5.2 are closed."""
        return self.grant.mask_mode is MaskMode.STRICT

    def require_visible(self, wanted: str, *fields: Field) -> None:
        """
        Refuse what would reveal a hidden field; `maskMode: basic` lets it pass.

        Args:
            wanted: What the caller asked for, as the subject of a sentence: "The filter from".
            fields: Every mask word it would reveal.

        Raises:
            FieldNotVisible: One of them is hidden.
        """
        hidden = [field for field in fields if self.hides(field)]
        if hidden and self.strict:
            raise FieldNotVisible(wanted, *hidden)

    def access_info(self, surface: Surface) -> str | None:
        """Describe the token's restrictions on *surface*; None when there are none."""
        return describe.access_info(surface, self.grant, has_block_rules=self.rules.has_block_rules)
