"""`Caller`: the authenticated access token, which every resolver asks for permission."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

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
    An authenticated access token, its permissions and the connections on its resources.

    It is immutable, and used no longer than the database rows that it was built from.

    Attributes:
        key_id: The displayable start of the token; not a secret.
        policy_rev: Grows with every change of the policy; compiled policy is cached under it.
        settings: The stored settings, for display only. Decisions read *grant*.
        rules: The compiled collab rules; without rules nothing on that surface is allowed.
        connections: Every connection that the token reaches, in any status, lowest id first.
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
        Run the gates that need no parameters; *operations* are alternatives.

        Raises:
            Refusal: The first gate refuses (docs/spec/requests.md#order-of-checks).
        """
        gates.admit(surface, operations, self.grant, self.connections)

    def allows(self, operation: Operation) -> bool:
        """Say whether the token has the flag of *operation*."""
        return gates.allows(self.grant, operation)

    def usable_connections(self, surface: Surface) -> tuple[Connection, ...]:
        """
        Return the connections that may be used, lowest id first.

        Raises:
            NoUsableConnection: Every one is inactive, or excluded by `allowedConnectionIds`.
        """
        usable = tuple(
            connection
            for connection in self.connections
            if connection.kind == surface
            and connection.status == "active"
            and not self.excludes(connection)
        )
        if not usable:
            raise NoUsableConnection(surface)
        return usable

    def excludes(self, connection: Connection) -> bool:
        """Say whether `allowedConnectionIds` leaves *connection* out."""
        allowed = self.grant.connection_ids
        return allowed is not None and connection.id not in allowed

    @cached_property
    def hides_resources(self) -> bool:
        """Say whether rules, scopes or windows may hide that a thing of some connection exists."""
        grant = self.grant
        limits = (grant.calendar_ids, grant.past_days, grant.future_days, grant.task_boards)
        return any(limit is not None for limit in (*limits, grant.connection_ids)) or (
            grant.collab_enabled and not self.rules.unrestricted
        )

    def hides(self, field: Field) -> bool:
        """Say whether the mask word *field* is hidden from the token."""
        return not self.grant.sees(field)

    @property
    def strict(self) -> bool:
        """Whether filters may not reveal hidden fields (docs/spec/masks.md#mask-mode)."""
        return self.grant.mask_mode is MaskMode.STRICT

    def require_visible(self, feature: str, *fields: Field) -> None:
        """
        Refuse a feature that would reveal a hidden field, unless `maskMode` is `basic`.

        Args:
            feature: The subject of a sentence: "The filter from".
            fields: Every mask word that the feature would reveal.

        Raises:
            FieldNotVisible: One of the fields is hidden.
        """
        hidden = [field for field in fields if self.hides(field)]
        if hidden and self.strict:
            raise FieldNotVisible(feature, *hidden)

    def access_info(self, surface: Surface) -> str | None:
        """Describe the token's restrictions on *surface*; None when there are none."""
        sentences = self._access_infos
        if surface not in sentences:
            sentences[surface] = describe.access_info(
                surface, self.grant, has_block_rules=self.rules.has_block_rules
            )
        return sentences[surface]

    @cached_property
    def _access_infos(self) -> dict[Surface, str | None]:
        """The sentences that were asked for."""
        return {}
