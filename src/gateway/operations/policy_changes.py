"""What a policy document would change in a store: found without writing anything."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gateway.errors import CommandError
from gateway.operations.policy_document import OperatorEntry, Policy, ResourceEntry, TokenEntry
from gateway.operations.policy_snapshot import MANUAL, KeptToken, Stock
from gateway.store import timestamps

CREATE, CHANGE, REMOVE, REVOKE = "create", "change", "remove", "revoke"
_SIGNS = {CREATE: "+", CHANGE: "~", REMOVE: "-", REVOKE: "-"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """
    One difference.

    Attributes:
        verb: create, change, remove or revoke.
        kind: operator, resource, token or rule.
        name: Of the operator (address), resource or token; of its token for a rule.
        member: What of it: `displayName`, `settings.maskMode`, or the rule in words.
    """

    verb: str
    kind: str
    name: str
    member: str | None = None
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        """One line for people."""
        whose = f"token {self.name}: rule" if self.kind == "rule" else f"{self.kind} {self.name}"
        words = f"{_SIGNS[self.verb]} {whose}"
        if self.kind == "rule":
            words += f" {self.member}"
        elif self.member is not None:
            words += f": {self.member}"
        if self.verb != CHANGE:
            return words
        return f"{words} {_text(self.before)} -> {_text(self.after)}"

    @property
    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "change": self.verb,
            "kind": self.kind,
            "name": self.name,
            "member": self.member,
            "before": self.before,
            "after": self.after,
        }


def changes(kept: Stock, wanted: Policy, *, prune: bool = False) -> list[Change]:
    """
    Find what is different; *prune* revokes the tokens that the document does not name.

    Raises:
        CommandError: A name is not there or says nothing, or a token would change its operator.
    """
    _check_names(kept, wanted)
    found = [
        *(change for one in wanted.operators for change in _operator(kept, one)),
        *(change for one in wanted.resources for change in _resource(kept, one)),
        *(change for one in wanted.tokens for change in _token(kept, one)),
    ]
    if prune:
        found += [Change(verb=REVOKE, kind="token", name=name) for name in unnamed(kept, wanted)]
    return found


def unnamed(kept: Stock, wanted: Policy) -> list[str]:
    """
    Return the names of the tokens that the document does not name.

    Raises:
        CommandError: It says nothing about tokens at all, or a name is that of several.
    """
    if "tokens" not in wanted.model_fields_set:
        raise CommandError("--prune needs a document that has tokens.")
    kept.telling_apart("token", kept.tokens)
    return sorted(kept.tokens.keys() - {one.name for one in wanted.tokens})


def _check_names(kept: Stock, wanted: Policy) -> None:
    people = {one.email for one in wanted.operators}
    places = {one.name for one in wanted.resources}
    people |= {one for entry in wanted.resources for one in entry.operators}
    people |= {entry.operator for entry in wanted.tokens}
    places |= {one for entry in wanted.tokens for one in entry.resources}
    kept.telling_apart("operator", people)
    kept.telling_apart("resource", places)
    kept.telling_apart("token", (one.name for one in wanted.tokens))
    known = kept.operators.keys() | {one.email for one in wanted.operators}
    _known("operator", people - known)
    _known("resource", places - kept.resources.keys() - {one.name for one in wanted.resources})


def _known(kind: str, missing: Iterable[str]) -> None:
    for name in sorted(missing):
        raise CommandError(f"There is no {kind} {name!r}, neither here nor in the document.")


def _operator(kept: Stock, entry: OperatorEntry) -> Iterator[Change]:
    row = kept.operators.get(entry.email)
    if row is None:
        yield Change(verb=CREATE, kind="operator", name=entry.email)
    elif row.display_name != entry.display_name:
        yield Change(
            verb=CHANGE,
            kind="operator",
            name=entry.email,
            member="displayName",
            before=row.display_name,
            after=entry.display_name,
        )


def _resource(kept: Stock, entry: ResourceEntry) -> Iterator[Change]:
    there = kept.resources.get(entry.name)
    if there is None:
        yield Change(verb=CREATE, kind="resource", name=entry.name)
    elif "operators" in entry.model_fields_set and there.operators != set(entry.operators):
        yield Change(
            verb=CHANGE,
            kind="resource",
            name=entry.name,
            member="operators",
            before=sorted(there.operators),
            after=sorted(set(entry.operators)),
        )


def _token(kept: Stock, entry: TokenEntry) -> Iterator[Change]:
    there = kept.tokens.get(entry.name)
    if there is None:
        yield Change(verb=CREATE, kind="token", name=entry.name)
        for key in sorted(entry.keyed_rules):
            yield _rule(CREATE, entry.name, key)
        return
    if there.operator != entry.operator:
        raise CommandError(f"Token {entry.name!r} is of {there.operator}; that cannot be changed.")
    given = entry.model_fields_set
    for member, before, after in _members(there, entry):
        if before != after:
            yield Change(
                verb=CHANGE,
                kind="token",
                name=entry.name,
                member=member,
                before=before,
                after=after,
            )
    if "rules" in given:
        yield from _rules(there, entry)


def _members(there: KeptToken, entry: TokenEntry) -> Iterator[tuple[str, Any, Any]]:
    given = entry.model_fields_set
    if "resources" in given:
        yield "resources", sorted(there.resources), sorted(set(entry.resources))
    if "expires_at" in given:
        yield "expiresAt", _moment(there.row.expires_at), _moment(entry.expires_at)
    if "settings" in given:
        before, after = plain(there.settings), plain(entry.full_settings)
        for name in after:
            yield f"settings.{name}", before[name], after[name]


def _rules(there: KeptToken, entry: TokenEntry) -> Iterator[Change]:
    wanted = entry.keyed_rules
    for key in sorted(wanted.keys() - there.rules.keys()):
        yield _rule(CREATE, entry.name, key)
    for key, rule in sorted(there.rules.items()):
        if key not in wanted:
            if rule.source == MANUAL:
                yield _rule(REMOVE, entry.name, key)
        elif (rule.description, rule.source) != (wanted[key], MANUAL):
            # A rule that the gateway made becomes one of the document's.
            before = {"description": rule.description, "source": rule.source}
            after = {"description": wanted[key], "source": MANUAL}
            yield _rule(CHANGE, entry.name, key, before, after)


def _rule(
    verb: str, token: str, key: tuple[str, str, str], before: Any = None, after: Any = None
) -> Change:
    rule_type, pattern, action = key
    member = f"{action} {rule_type} {pattern}"
    return Change(verb=verb, kind="rule", name=token, member=member, before=before, after=after)


def plain(value: Any) -> Any:
    """Return *value* as JSON gives it back, so that a tuple is no other than a list."""
    return json.loads(json.dumps(value))


def _moment(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else timestamps.to_text(milliseconds)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
