"""
The policy of a deployment as one document: who may do what, without a secret in it.

People and resources are known by their names, so a document is good for other deployments too; ids
in token settings (boards, calendars, connections) are as they stand. A member that is left out
leaves things as they are; `settings` and `rules` that are given are whole.

    {"version": 1,
     "operators": [{"email": "…", "displayName": "…"}],
     "resources": [{"name": "…", "operators": ["EMAIL", …]}],
     "tokens": [{"name": "…", "operator": "EMAIL", "resources": ["NAME", …], "expiresAt": null,
                 "settings": {…}, "rules": [{"ruleType", "pattern", "action", "description"}]}]}
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.cli.documents import read
from gateway.management.bodies import Address, Body, DisplayName, Name, Text, Time
from gateway.management.rules import MAX_RULES
from policy import grants, patterns
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code, RuleAction, RuleType

VERSION = 1
RuleKey = tuple[str, str, str]  # type, raw pattern, action: what makes two rules the same


class OperatorEntry(Body):
    email: Address
    display_name: DisplayName


class ResourceEntry(Body):
    name: Name
    operators: list[Address] = Field(default_factory=list)


class RuleEntry(Body):
    rule_type: RuleType = Field(strict=False)
    pattern: str
    action: RuleAction = Field(strict=False)
    description: Text | None = None

    @property
    def key(self) -> RuleKey:
        """
        What the rule is, its pattern in raw form.

        Raises:
            InvalidInput: The type takes no such pattern.
        """
        raw = patterns.normalise(self.rule_type, self.pattern, self.action)
        return self.rule_type.value, raw, self.action.value


class TokenEntry(Body):
    name: Name
    operator: Address
    resources: list[Name] = Field(default_factory=list)
    expires_at: Time | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    rules: Annotated[list[RuleEntry], Field(max_length=MAX_RULES)] = Field(default_factory=list)

    @property
    def full_settings(self) -> dict[str, object]:
        """Every setting: what is not named has its default."""
        return grants.validate(self.settings)

    @property
    def keyed_rules(self) -> dict[RuleKey, str | None]:
        """The rules and their descriptions."""
        return {rule.key: rule.description for rule in self.rules}


class Policy(Body):
    version: Literal[1]
    operators: list[OperatorEntry] = Field(default_factory=list)
    resources: list[ResourceEntry] = Field(default_factory=list)
    tokens: list[TokenEntry] = Field(default_factory=list)


def parsed(text: str) -> Policy:
    """
    Read a document, and check all of it.

    Raises:
        CommandError: No JSON.
        InvalidInput: `VALIDATION_ERROR`; the details name the places.
    """
    policy = read(Policy, text)
    refuse(
        [
            *_twice("operators", (one.email for one in policy.operators)),
            *_twice("resources", (one.name for one in policy.resources)),
            *_twice("tokens", (one.name for one in policy.tokens)),
            *complaints(policy.tokens),
        ]
    )
    return policy


def refuse(details: list[Detail]) -> None:
    """
    Do nothing when there are no *details*.

    Raises:
        InvalidInput: `VALIDATION_ERROR` with them.
    """
    if details:
        message = "The file cannot be used."
        raise InvalidInput(message, code=Code.VALIDATION_ERROR, details=details)


def complaints(tokens: Iterable[TokenEntry]) -> Iterator[Detail]:
    """Say what of the settings and rules of *tokens* cannot be read, and what is there twice."""
    for position, token in enumerate(tokens):
        place = f"tokens[{position}]"
        try:
            grants.validate(token.settings)
        except InvalidInput as problem:
            for one in problem.details:
                yield Detail(f"{place}.{one.field}", one.message)
        seen = set()
        for number, rule in enumerate(token.rules):
            try:
                key = rule.key
            except InvalidInput as problem:
                yield Detail(f"{place}.rules[{number}].pattern", problem.message)
                continue
            if key in seen:
                yield Detail(f"{place}.rules[{number}]", "is there already")
            seen.add(key)


def _twice(member: str, names: Iterable[str]) -> Iterator[Detail]:
    seen = set()
    for position, name in enumerate(names):
        if name in seen:
            yield Detail(f"{member}[{position}]", "has the name of another one")
        seen.add(name)
