"""The differences between a policy document and the stored policy; nothing is written."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway.errors import CommandError
from gateway.operations.policy_document import (
    OperatorEntry,
    Policy,
    ResourceEntry,
    RuleKey,
    TokenEntry,
)
from gateway.operations.policy_snapshot import MANUAL, PolicySnapshot, StoredToken
from gateway.store import timestamps

CREATE, CHANGE, REMOVE, REVOKE = "create", "change", "remove", "revoke"
_SIGNS = {CREATE: "+", CHANGE: "~", REMOVE: "-", REVOKE: "-"}


@dataclass(frozen=True, slots=True)
class Change:
    """
    One difference.

    Attributes:
        verb: create, change, remove or revoke.
        kind: operator, resource, token or rule.
        name: Of the operator (address), resource or token; of its token for a rule.
        member: The member that differs (`displayName`, `settings.maskMode`), or the rule in words.
    """

    verb: str
    kind: str
    name: str
    member: str | None = None
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        subject = f"token {self.name}: rule" if self.kind == "rule" else f"{self.kind} {self.name}"
        words = f"{_SIGNS[self.verb]} {subject}"
        if self.kind == "rule":
            words += f" {self.member}"
        elif self.member is not None:
            words += f": {self.member}"
        if self.verb != CHANGE:
            return words
        before, after = (
            json.dumps(value, ensure_ascii=False) for value in (self.before, self.after)
        )
        return f"{words} {before} -> {after}"

    @property
    def as_json(self) -> dict[str, Any]:
        return {
            "change": self.verb,
            "kind": self.kind,
            "name": self.name,
            "member": self.member,
            "before": self.before,
            "after": self.after,
        }


def changes(snapshot: PolicySnapshot, policy: Policy, *, prune: bool = False) -> list[Change]:
    """
    Return the differences; *prune* revokes the tokens that the document does not name.

    Raises:
        CommandError: A name is unknown or ambiguous, or a token would change its operator, or get
            a resource that its operator is not linked to.
    """
    _check_names(snapshot, policy)
    _check_links(snapshot, policy)
    differences = [
        *(change for entry in policy.operators for change in _operator(snapshot, entry)),
        *(change for entry in policy.resources for change in _resource(snapshot, entry)),
        *(change for entry in policy.tokens for change in _token(snapshot, entry)),
    ]
    if prune:
        differences += [Change(REVOKE, "token", name) for name in _unnamed(snapshot, policy)]
    return differences


def _unnamed(snapshot: PolicySnapshot, policy: Policy) -> list[str]:
    """
    Return the names of the stored tokens that the document does not name.

    Raises:
        CommandError: The document has no tokens at all, or a name is ambiguous.
    """
    if "tokens" not in policy.model_fields_set:
        raise CommandError("--prune needs a document that has tokens.")
    snapshot.require_unique("token", snapshot.tokens)
    return sorted(snapshot.tokens.keys() - {token.name for token in policy.tokens})


def _check_names(snapshot: PolicySnapshot, policy: Policy) -> None:
    defined_operators = {operator.email for operator in policy.operators}
    defined_resources = {resource.name for resource in policy.resources}
    operators = (
        defined_operators
        | {email for resource in policy.resources for email in resource.operators}
        | {token.operator for token in policy.tokens}
    )
    resources = defined_resources | {name for token in policy.tokens for name in token.resources}
    snapshot.require_unique("operator", operators)
    snapshot.require_unique("resource", resources)
    snapshot.require_unique("token", (token.name for token in policy.tokens))
    _refuse_unknown("operator", operators - snapshot.operators.keys() - defined_operators)
    _refuse_unknown("resource", resources - snapshot.resources.keys() - defined_resources)


def _check_links(snapshot: PolicySnapshot, policy: Policy) -> None:
    """Check the resources of the tokens that are created, or whose resources change."""
    operators = {name: resource.operators for name, resource in snapshot.resources.items()}
    for resource in policy.resources:
        if resource.name not in operators or "operators" in resource.model_fields_set:
            operators[resource.name] = frozenset(resource.operators)
    for token in policy.tokens:
        stored = snapshot.tokens.get(token.name)
        if stored is not None and stored.resources == set(token.resources):
            continue  # an export applies without changes, whatever is linked meanwhile
        for name in token.resources:
            if token.operator not in operators[name]:
                raise CommandError(
                    f"Token {token.name!r} names resource {name!r}, which {token.operator} is not "
                    "linked to."
                )


def _refuse_unknown(kind: str, missing: Iterable[str]) -> None:
    for name in sorted(missing):
        raise CommandError(f"There is no {kind} {name!r}, neither here nor in the document.")


def _operator(snapshot: PolicySnapshot, entry: OperatorEntry) -> Iterator[Change]:
    row = snapshot.operators.get(entry.email)
    if row is None:
        yield Change(CREATE, "operator", entry.email)
    elif row.display_name != entry.display_name:
        before, after = row.display_name, entry.display_name
        yield Change(CHANGE, "operator", entry.email, "displayName", before, after)


def _resource(snapshot: PolicySnapshot, entry: ResourceEntry) -> Iterator[Change]:
    stored = snapshot.resources.get(entry.name)
    if stored is None:
        yield Change(CREATE, "resource", entry.name)
    elif "operators" in entry.model_fields_set and stored.operators != set(entry.operators):
        before, after = sorted(stored.operators), sorted(set(entry.operators))
        yield Change(CHANGE, "resource", entry.name, "operators", before, after)


def _token(snapshot: PolicySnapshot, entry: TokenEntry) -> Iterator[Change]:
    stored = snapshot.tokens.get(entry.name)
    if stored is None:
        yield Change(CREATE, "token", entry.name)
        for key in sorted(entry.keyed_rules):
            yield _rule(CREATE, entry.name, key)
        return
    if stored.operator != entry.operator:
        raise CommandError(f"Token {entry.name!r} is of {stored.operator}; that cannot be changed.")
    for member, before, after in _members(stored, entry):
        if before != after:
            yield Change(CHANGE, "token", entry.name, member, before, after)
    if "rules" in entry.model_fields_set:
        yield from _rules(stored, entry)


def _members(stored: StoredToken, entry: TokenEntry) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, stored value and value of the document for each member that it has."""
    members = entry.model_fields_set
    if "resources" in members:
        yield "resources", sorted(stored.resources), sorted(set(entry.resources))
    if "expires_at" in members:
        before, after = stored.row.expires_at, entry.expires_at
        yield "expiresAt", timestamps.optional_text(before), timestamps.optional_text(after)
    if "settings" in members:
        before, after = plain(stored.settings), plain(entry.full_settings)
        for name in after:
            yield f"settings.{name}", before[name], after[name]


def _rules(stored: StoredToken, entry: TokenEntry) -> Iterator[Change]:
    described = entry.keyed_rules
    for key in sorted(described.keys() - stored.rules.keys()):
        yield _rule(CREATE, entry.name, key)
    for key, rule in sorted(stored.rules.items()):
        if key not in described:
            if rule.source == MANUAL:
                yield _rule(REMOVE, entry.name, key)
        elif (rule.description, rule.source) != (described[key], MANUAL):
            # A rule that the gateway made becomes one of the document's.
            before = {"description": rule.description, "source": rule.source}
            after = {"description": described[key], "source": MANUAL}
            yield _rule(CHANGE, entry.name, key, before, after)


def _rule(verb: str, token: str, key: RuleKey, before: Any = None, after: Any = None) -> Change:
    rule_type, pattern, action = key
    member = f"{action} {rule_type} {pattern}"
    return Change(verb, "rule", token, member, before, after)


def plain(value: Any) -> Any:
    """Return *value* as it is after a JSON round trip, so that a tuple equals a list."""
    return json.loads(json.dumps(value))
