"""`Caller`: the authenticated access token, which every resolver asks for permission."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple, TypeVar

import msgspec

from policy import containment, describe, gates
from policy.accounts import AmbiguousAccount, differ, narrowed, on_account, usable, write_modes
from policy.gates import Connection
from policy.grants import Grant, TokenQuota
from policy.quota import Charge, token_charges
from policy.recipients import Recipient
from policy.refusals import (
    ChildrenNotAllowed,
    DocumentNotAllowed,
    FieldNotVisible,
    NoUsableConnection,
    RecipientNotAllowed,
    Refusal,
)
from policy.rule_chain import RuleChain, Rules
from policy.rules import RuleSet
from policy.vocabulary import Field, MaskMode, Operation, SendMode, Surface, WriteMode

T = TypeVar("T")
MAX_ANCESTORS = 3  # docs/spec/child-tokens.md#limits
NOTHING_ALLOWED = RuleSet.compile((), allow_by_default=False)


class TokenPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The own policy of one token; *settings* are stored, *grant* and *rules* read from them."""

    token_id: int
    grant: Grant
    settings: Mapping[str, object]
    rules: RuleSet


class Ancestor(NamedTuple):
    """A token from which the caller's token was made, directly or not."""

    token_id: int
    quota: TokenQuota


class EffectivePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """
    Policy of a token, narrowed by its ancestors' (docs/spec/child-tokens.md).

    Attributes:
        settings: As `Caller.settings`.
        narrowed: The settings that an ancestor narrows, by name.
        ancestors: The parent first.
    """

    grant: Grant
    settings: Mapping[str, object]
    rules: Rules
    narrowed: tuple[str, ...] = ()
    ancestors: tuple[Ancestor, ...] = ()


def effective_policy(own: TokenPolicy, ancestors: Sequence[TokenPolicy]) -> EffectivePolicy:
    """Narrow the policy of a token by those of its *ancestors*, the parent first."""
    if not ancestors:
        return EffectivePolicy(grant=own.grant, settings=own.settings, rules=own.rules)
    grant = containment.meet(own.grant, (ancestor.grant for ancestor in ancestors))
    return EffectivePolicy(
        grant=grant,
        settings=containment.narrowed_settings(own.settings, own.grant, grant),
        rules=RuleChain([own.rules, *(ancestor.rules for ancestor in ancestors)]),
        narrowed=tuple(containment.widened_settings(grant, own.grant)),
        ancestors=tuple(Ancestor(each.token_id, each.grant.quota) for each in ancestors),
    )


@dataclass(frozen=True, kw_only=True)
class Caller:
    """
    An authenticated access token, its permissions and the connections on its resources.

    It is immutable, and used no longer than the database rows that it was built from.

    Attributes:
        key_id: The displayable start of the token; not a secret.
        policy_rev: Grows with every change of the policy; compiled policy is cached under it.
        settings: The stored settings, narrowed by the ancestors', for display only. Decisions read
            *grant*.
        narrowed: The settings that an ancestor narrows, by name.
        ancestors: The tokens from which a child token was made, the parent first.
        ancestor_revs: Their policy revisions.
        rules: The compiled collab rules; without rules nothing on that surface is allowed.
        connections: Every connection that the token reaches, in any status, lowest id first.
        grant: *token_grant*, narrowed by connections if it has `accounts`; `on` tells of each.
        audience: The only path that accepts the token; None: every path does.
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
    rules: Rules = field(default=NOTHING_ALLOWED, repr=False)
    narrowed: tuple[str, ...] = ()
    ancestors: tuple[Ancestor, ...] = ()
    ancestor_revs: tuple[int, ...] = ()
    audience: str | None = None
    token_grant: Grant = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "token_grant", self.grant)
        if self.grant.accounts:
            object.__setattr__(self, "grant", narrowed(self.grant, self.connections))

    def on(self, connection_id: int | None) -> "Caller":
        """Return the caller as a connection alone narrows it; None, or an unknown one: itself."""
        if not self.grant.accounts:
            return self
        connections = tuple(each for each in self.connections if each.id == connection_id)
        if not connections:
            return self
        if connection_id not in self._on:
            grant = on_account(self.token_grant, connections[0])
            self._on[connection_id] = replace(self, grant=grant, connections=connections)
        return self._on[connection_id]

    def together(self, connections: Collection[int]) -> "Caller":
        """Return the caller with what all of some connections allow, each on its surface."""
        used = tuple(each for each in self.connections if each.id in connections)
        if not (self.grant.accounts and used):
            return self
        first, *others = [on_account(self.token_grant, each) for each in used]
        return replace(self, grant=containment.meet(first, others), connections=used)

    def on_each(
        self, connections: Iterable[Connection], build: Callable[["Caller"], T]
    ) -> dict[int, T]:
        """
        Return what *build* makes of the caller on each connection; those it refuses are left out.

        Raises:
            Refusal: That of the first one, when all are refused.
        """
        refusals: list[Refusal] = []
        built: dict[int, T] = {}
        for connection in connections:
            try:
                built[connection.id] = build(self.on(connection.id))
            except Refusal as refusal:
                refusals.append(refusal)
        if refusals and not built:
            raise refusals[0]
        return built

    def require_any(
        self, surface: Surface, check: Callable[["Caller"], None], *, provider: str | None = None
    ) -> None:
        """
        Check that an account of *surface*, or of a *provider* among them, admits a call.

        Raises:
            Refusal: As `on_each`.
        """
        if self.grant.accounts:
            usable = self.usable_connections(surface)
            self.on_each([each for each in usable if provider in {None, each.provider}], check)

    def admit(self, surface: Surface, *operations: Operation) -> None:
        """
        Run the gates that need no parameters; *operations* are alternatives.

        Raises:
            Refusal: The first gate refuses (docs/spec/requests.md#order-of-checks).
        """
        gates.admit(surface, operations, self.grant, self.connections)

    @property
    def limits_documents(self) -> bool:
        """Whether the token is limited to saved documents, or its other calls are noted."""
        grant = self.grant
        return grant.documents is not None or grant.documents_log_only is not None

    def may_run(self, document: str) -> bool:
        """Return whether the token may run the saved document of this name."""
        return self.grant.documents is None or self.grant.documents.allows([document])

    def require_document(self, names: Sequence[str]) -> bool:
        """
        Check that the token may make a call that runs the saved documents *names*.

        Return whether the limit that is only logged allows it, too.

        Raises:
            DocumentNotAllowed: It runs none that the token allows.
        """
        grant = self.grant
        if grant.documents is not None and not grant.documents.allows(names):
            raise DocumentNotAllowed(names)
        return grant.documents_log_only is None or grant.documents_log_only.allows(names)

    def allows(self, operation: Operation) -> bool:
        """Return whether the token has the flag of *operation*."""
        return gates.allows(self.grant, operation)

    def require_children_allowed(self) -> None:
        """
        Check that the token may create child tokens.

        Raises:
            ChildrenNotAllowed: `allowChildren` is false, or the token has too many ancestors.
        """
        if not self.grant.allow_children or len(self.ancestors) >= MAX_ANCESTORS:
            raise ChildrenNotAllowed(allowed=self.grant.allow_children)

    def usable_connections(self, surface: Surface) -> tuple[Connection, ...]:
        """
        Return the connections that may be used, lowest id first.

        Raises:
            NoUsableConnection: Every one is inactive, or excluded by `allowedConnectionIds`.
        """
        usable = self._usable.get(surface)
        if usable is None:
            usable = self._usable[surface] = tuple(
                connection
                for connection in self.connections
                if connection.kind == surface
                and connection.status == "active"
                and not self.excludes(connection)
            )
        if not usable:
            raise self.no_usable_connection(surface)
        return usable

    def no_usable_connection(self, surface: Surface) -> NoUsableConnection:
        """Return the refusal, which tells why the accounts that it may use do not work."""
        dead = [
            (f"{each.account_email}: {each.cause}", each.reconnect_url)
            for each in self.connections
            if each.kind == surface
            and each.status in {"needs_reauth", "error"}
            and each.cause
            and not self.excludes(each)
        ]
        return NoUsableConnection(surface, dead)

    def require_one(self, connections: Sequence[Connection]) -> None:
        """
        Check that a write that names no account can go to one of *connections* only.

        Raises:
            AmbiguousAccount: There are several, and the token must name one.
        """
        grant = self.grant
        if (grant.requires_connection or grant.accounts) and len(connections) > 1:
            raise AmbiguousAccount(connections)

    def excludes(self, connection: Connection) -> bool:
        """Return whether `allowedConnectionIds` leaves *connection* out."""
        allowed = self.grant.connection_ids
        return allowed is not None and connection.id not in allowed

    @cached_property
    def parent_id(self) -> int | None:
        """The id of the token from which this token was made; None: an operator made it."""
        return self.ancestors[0].token_id if self.ancestors else None

    @property
    def quotas(self) -> tuple[tuple[int, TokenQuota], ...]:
        """The ids of the token and its ancestors, which calls are charged to, with their quotas."""
        return (self.token_id, self.grant.quota), *self.ancestors

    def quota_charges(self, cost: int) -> Sequence[Charge]:
        """Return the charges of *cost* requests to the quotas of the token and its ancestors."""
        if cost == 1:
            return self._quota_charges
        return [charge._replace(cost=cost) for charge in self._quota_charges]

    @cached_property
    def _quota_charges(self) -> list[Charge]:
        """The charges of one request."""
        return token_charges(self.quotas, 1)

    @cached_property
    def hides_resources(self) -> bool:
        """Return whether rules, scopes or windows may hide that something exists upstream."""
        grant = self.grant
        limits = (grant.calendar_ids, grant.past_days, grant.future_days, grant.task_boards)
        return any(limit is not None for limit in (*limits, grant.connection_ids)) or bool(
            grant.accounts or (grant.collab_enabled and not self.rules.unrestricted)
        )

    def hides(self, field: Field) -> bool:
        """Return whether the mask word *field* is hidden from the token."""
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

    @property
    def limits_recipients(self) -> bool:
        """Whether the token may not write to everyone."""
        return self.grant.recipients is not None

    @property
    def holds_mail(self) -> bool:
        """Whether mail is left as a draft for a person to send."""
        return self.grant.send_mode is SendMode.DRAFT

    @cached_property
    def write_modes(self) -> frozenset[WriteMode]:
        """The token's write mode, or those of its accounts."""
        used = [each for each in self.connections if usable(self.grant, each)]
        return frozenset({self.grant.write_mode, *write_modes(self.token_grant, used)})

    def require_visible_recipients(self, feature: str, *fields: Field) -> None:
        """
        Refuse to derive recipients from a hidden field; a token with recipient rules also in basic.

        Whether the rules allow such a recipient would reveal it.

        Raises:
            FieldNotVisible: One of the fields is hidden.
        """
        hidden = [field for field in fields if self.hides(field)]
        if hidden and (self.strict or self.limits_recipients):
            raise FieldNotVisible(feature, *hidden)

    def require_recipients(self, recipients: Iterable[Recipient]) -> None:
        """
        Check that the token may write to all *recipients*, the derived ones included.

        Raises:
            RecipientNotAllowed: The recipient rules exclude one.
        """
        rules = self.grant.recipients
        if rules is None:
            return
        rejected = [recipient for recipient in recipients if not rules.allows(recipient.address)]
        if rejected:
            raise RecipientNotAllowed(rejected)

    def access_info(self, surface: Surface) -> str | None:
        """Describe the token's restrictions on *surface*; None when there are none."""
        sentences = self._access_infos
        if surface not in sentences:
            own = describe.access_info(
                surface, self.grant, has_block_rules=self.rules.has_block_rules
            )
            used = [each for each in self.connections if each.kind == surface]
            narrower = describe.NARROWER if differ(self.token_grant, used) else None
            child = describe.child_info(surface, self.narrowed) if self.ancestors else None
            sentences[surface] = " ".join(filter(None, (own, narrower, child))) or None
        return sentences[surface]

    @cached_property
    def _usable(self) -> dict[Surface, tuple[Connection, ...]]:
        """The usable connections of the surfaces that were asked for."""
        return {}

    @cached_property
    def _on(self) -> dict[int | None, "Caller"]:
        """The callers of connections that were asked for."""
        return {}

    @cached_property
    def _access_infos(self) -> dict[Surface, str | None]:
        """The sentences that were asked for."""
        return {}
