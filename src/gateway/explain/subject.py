"""The token of a question: its stored policy, and its policy with changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from gateway.auth import authenticator
from gateway.auth.authenticator import Authenticator
from gateway.store.tables import AccessToken
from gateway.store.timestamps import from_ms
from policy.caller import Caller, TokenPolicy, effective_policy
from policy.grants import Grant
from policy.refusals import Unauthenticated
from policy.remedies import changes
from policy.remedies.changes import AddAllowRule, ExtendLifetime, PolicyChange, RemoveRule
from policy.rule_facts import Facts, Rule
from policy.rules import Decision, RuleSet
from policy.vocabulary import UnauthorizedReason
from providers.ports.connection import ConnectionInfo


@dataclass(frozen=True)
class RecordingRuleSet(RuleSet):
    """Rules that record which of them allowed something; None stands for the default."""

    allowed_by: set[int | None] = field(default_factory=set)

    def decide(self, facts: Facts) -> Decision:
        decision = super().decide(facts)
        if decision.allowed:
            self.allowed_by.add(decision.rule_id)
        return decision


@dataclass(frozen=True, kw_only=True)
class Subject:
    """
    A token's stored policy.

    Attributes:
        connections: Those within its reach and its ancestors'.
        parent: The token from which a child token was made, itself below its parent.
        rules: None when a stored rule cannot be read, so that nothing is allowed.
        parts: Changes of the policy, in memory only.
        now: Milliseconds since the epoch.
    """

    token: AccessToken
    connections: tuple[ConnectionInfo, ...]
    rules: Sequence[Rule] | None
    now: int
    parts: tuple[PolicyChange, ...] = ()
    parent: "Subject | None" = None
    _compiled: dict[object, RuleSet] = field(default_factory=dict, repr=False)  # shared by copies

    @classmethod
    async def read(
        cls, tokens: Sequence[AccessToken], authenticator_: Authenticator, now: int
    ) -> "Subject":
        """Read the policy of a token; *tokens* are it and its ancestors, the parent second."""
        token, *ancestors = tokens
        token_id = token.id or 0
        connections = await authenticator_.connections_of(token_id)
        parent = await cls.read(ancestors, authenticator_, now) if ancestors else None
        if parent is not None:
            reached = {connection.id for connection in parent.connections}
            connections = tuple(each for each in connections if each.id in reached)
        return cls(
            token=token,
            connections=connections,
            rules=await authenticator_.rules_of(token_id),
            now=now,
            parent=parent,
        )

    @property
    def ancestors(self) -> tuple["Subject", ...]:
        """The subjects of the token's ancestors, the parent first."""
        return () if self.parent is None else (self.parent, *self.parent.ancestors)

    def changed(self, parts: Sequence[PolicyChange]) -> "Subject":
        """Return a copy with *parts* instead of its present changes."""
        return replace(self, parts=tuple(parts))

    @cached_property
    def settings(self) -> dict[str, Any]:
        return changes.apply_to_settings(self.token.settings, self.parts)

    @cached_property
    def all_rules(self) -> Sequence[Rule]:
        """The rules with the changes; empty when they cannot be read."""
        return () if self.rules is None else changes.apply_to_rules(self.rules, self.parts)

    @property
    def moment(self) -> datetime:
        """The current time; aware, UTC."""
        return from_ms(self.now)

    def require_alive(self) -> None:
        """
        Check that the token and its ancestors are neither revoked nor expired.

        Raises:
            Unauthenticated: One of them is revoked or expired.
        """
        if self.parent is not None:
            self.parent.require_alive()
        if self.token.revoked_at is not None:
            raise Unauthenticated(UnauthorizedReason.REVOKED)
        extended = [part.expires_at for part in self.parts if isinstance(part, ExtendLifetime)]
        expires_at = extended[-1] if extended else self.token.expires_at
        if expires_at is not None and expires_at <= self.now:
            raise Unauthenticated(UnauthorizedReason.EXPIRED)

    @cached_property
    def caller(self) -> Caller:
        """Return the caller of the token, as `gateway.auth.authenticator` would."""
        token = self.token
        policy = effective_policy(self.policy, [each.policy for each in self.ancestors])
        expires_at = token.expires_at
        return Caller(
            token_id=token.id or 0,
            token_name=token.name,
            key_id=token.key_id,
            expires_at=None if expires_at is None else from_ms(expires_at),
            policy_rev=token.policy_rev,
            operator_id=token.operator_id,
            grant=policy.grant,
            settings=policy.settings,
            rules=policy.rules,
            narrowed=policy.narrowed,
            ancestors=policy.ancestors,
            connections=self.connections,
        )

    @cached_property
    def own_rules(self) -> RecordingRuleSet:
        """The token's own rules, which record what they allowed."""
        return RecordingRuleSet(**vars(self._ruleset(Grant.read(self.settings))))

    @property
    def policy(self) -> TokenPolicy:
        """The token's own policy, as its ancestors do not narrow it."""
        return TokenPolicy(
            token_id=self.token.id or 0,
            grant=Grant.read(self.settings),
            settings=self.settings,
            rules=self.own_rules,
        )

    def _ruleset(self, grant: Grant) -> RuleSet:
        """Compile the rules, once for all copies with equal rules."""
        changed = tuple(part for part in self.parts if isinstance(part, AddAllowRule | RemoveRule))
        key = (changed, grant.collab_enabled, grant.collab_allow_all)
        if key not in self._compiled:
            rules = None if self.rules is None else self.all_rules
            self._compiled[key] = authenticator.compile_rules(grant, rules)
        return self._compiled[key]
