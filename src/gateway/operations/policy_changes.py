"""The differences between a policy document and the stored policy; nothing is written."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway.errors import CommandError
from gateway.operations.documents import batch
from gateway.operations.documents.collection import NamedDocument
from gateway.operations.policy_document import (
    OperatorEntry,
    Policy,
    ResourceEntry,
    RuleKey,
    TokenEntry,
)
from gateway.operations.policy_snapshot import MANUAL, PolicySnapshot, StoredToken, document_fields
from gateway.store import timestamps
from policy.containment import (
    Direction,
    direction_of_end,
    direction_of_rule,
    direction_of_set,
    directions_of_settings,
)
from policy.grants import Grant

CREATE, CHANGE, REMOVE, REVOKE = "create", "change", "remove", "revoke"
_SIGNS = {CREATE: "+", CHANGE: "~", REMOVE: "-", REVOKE: "-"}


@dataclass(frozen=True, slots=True)
class Change:
    """
    One difference.

    Attributes:
        verb: create, change, remove or revoke.
        kind: operator, resource, token, rule or document.
        name: Of the operator (address), resource, token or document; of its token for a rule.
        member: The member that differs (`displayName`, `settings.maskMode`), or the rule in words.
        direction: Whether tokens may do more after the change, or less.
    """

    verb: str
    kind: str
    name: str
    member: str | None = None
    before: Any = None
    after: Any = None
    direction: Direction = Direction.NEITHER

    def __str__(self) -> str:
        subject = f"token {self.name}: rule" if self.kind == "rule" else f"{self.kind} {self.name}"
        words = f"{_SIGNS[self.verb]} {subject}"
        if self.kind == "rule":
            words += f" {self.member}"
        elif self.member is not None:
            words += f": {self.member}"
        if self.verb == CHANGE:
            before, after = (
                json.dumps(value, ensure_ascii=False) for value in (self.before, self.after)
            )
            words += f" {before} -> {after}"
        return f"{words} ({self.direction})"

    @property
    def as_json(self) -> dict[str, Any]:
        return {
            "change": self.verb,
            "kind": self.kind,
            "name": self.name,
            "member": self.member,
            "before": self.before,
            "after": self.after,
            "direction": self.direction,
        }


def changes(snapshot: PolicySnapshot, policy: Policy, *, prune: bool = False) -> list[Change]:
    """
    Return the differences; *prune* revokes tokens and removes documents that are not named.

    Raises:
        CommandError: A name is unknown or ambiguous, or a token would change its operator, or get
            a resource that its operator is not linked to.
        Refusal: A saved document is refused, as by `batch.check`.
    """
    _check_names(snapshot, policy)
    _check_links(snapshot, policy)
    differences = [
        *(change for entry in policy.operators for change in _operator(snapshot, entry)),
        *(change for entry in policy.resources for change in _resource(snapshot, entry)),
        *(change for entry in policy.tokens for change in _token(snapshot, entry)),
    ]
    differences += (change for entry in policy.documents for change in _document(snapshot, entry))
    if prune:
        differences += _pruned(snapshot, policy)
    if edited := edited_documents(policy, differences):
        batch.check(snapshot.documents, edited, removed_documents(differences))
    return differences


def edited_documents(policy: Policy, differences: Iterable[Change]) -> dict[int, NamedDocument]:
    """Return the saved documents that are created or changed, by their position in *policy*."""
    names = {change.name for change in differences if change.kind == "document"}
    return {
        position: entry for position, entry in enumerate(policy.documents) if entry.name in names
    }


def removed_documents(differences: Iterable[Change]) -> list[str]:
    """Return the names of the saved documents that are removed."""
    return [
        change.name for change in differences if (change.verb, change.kind) == (REMOVE, "document")
    ]


def _pruned(snapshot: PolicySnapshot, policy: Policy) -> Iterator[Change]:
    """
    Yield the ends of the stored tokens and saved documents that the policy document does not name.

    Raises:
        CommandError: The document has neither tokens nor documents, or a name is ambiguous.
    """
    if not policy.model_fields_set & {"tokens", "documents"}:
        raise CommandError("--prune needs a document that has tokens or documents.")
    if "tokens" in policy.model_fields_set:
        snapshot.require_unique("token", snapshot.tokens)
        for name in sorted(snapshot.tokens.keys() - {token.name for token in policy.tokens}):
            yield Change(REVOKE, "token", name, direction=Direction.NARROWER)
    if "documents" in policy.model_fields_set:
        named = {document.name for document in policy.documents}
        for name in sorted(snapshot.documents.keys() - named):
            yield Change(REMOVE, "document", name, direction=_reach(snapshot, name, added=False))


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
        raise CommandError(
            f"There is no {kind} {name!r}, neither in this deployment nor in the document."
        )


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
        moved = direction_of_set(set(before), set(after))
        yield Change(CHANGE, "resource", entry.name, "operators", before, after, moved)


def _token(snapshot: PolicySnapshot, entry: TokenEntry) -> Iterator[Change]:
    stored = snapshot.tokens.get(entry.name)
    if stored is None:
        yield Change(CREATE, "token", entry.name, direction=Direction.WIDER)
        for key in sorted(entry.keyed_rules):
            yield _rule(CREATE, entry.name, key)
        return
    if stored.operator != entry.operator:
        raise CommandError(f"Token {entry.name!r} belongs to {stored.operator} for good.")
    for member, before, after, moved in _members(stored, entry):
        if before != after:
            yield Change(CHANGE, "token", entry.name, member, before, after, moved)
    if "rules" in entry.model_fields_set:
        yield from _rules(stored, entry)


def _members(stored: StoredToken, entry: TokenEntry) -> Iterator[tuple[str, Any, Any, Direction]]:
    """Yield name, stored value, value of the document and direction of each member that it has."""
    members = entry.model_fields_set
    if "resources" in members:
        moved = direction_of_set(stored.resources, set(entry.resources))
        yield "resources", sorted(stored.resources), sorted(set(entry.resources)), moved
    if "expires_at" in members:
        ends = stored.row.expires_at, entry.expires_at
        before, after = map(timestamps.optional_text, ends)
        yield "expiresAt", before, after, direction_of_end(*ends)
    if "settings" in members:
        before, after = plain(stored.settings), plain(entry.full_settings(stored.settings))
        directions = directions_of_settings(Grant.read(before), Grant.read(after))
        for name in after:
            yield f"settings.{name}", before[name], after[name], directions[name]


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
    moved = Direction.NEITHER if verb == CHANGE else direction_of_rule(action, added=verb == CREATE)
    return Change(verb, "rule", token, member, before, after, moved)


def _document(snapshot: PolicySnapshot, entry: NamedDocument) -> Iterator[Change]:
    row = snapshot.documents.get(entry.name)
    if row is None:
        yield Change(
            CREATE, "document", entry.name, direction=_reach(snapshot, entry.name, added=True)
        )
        return
    for member, before in document_fields(row).items():
        after = getattr(entry, member)
        if before != after:
            yield Change(CHANGE, "document", entry.name, member, before, after)


def _reach(snapshot: PolicySnapshot, name: str, *, added: bool) -> Direction:
    """Return the direction of an added or removed document: that for tokens limited to it."""
    if any(limit.allows([name]) for limit in snapshot.document_limits):
        return Direction.WIDER if added else Direction.NARROWER
    return Direction.NEITHER


def plain(value: Any) -> Any:
    """Return *value* as it is after a JSON round trip, so that a tuple equals a list."""
    return json.loads(json.dumps(value))
