"""
The policy of a deployment as one file without secrets: operators, tokens, rules, saved documents.

People and resources are identified by their names, so a document fits other deployments too; ids
in token settings (boards, calendars, connections) are kept unchanged. A member that is left out
changes nothing; `settings`, `rules` and a saved document that are present replace the stored ones
entirely.

    {"version": 1,
     "operators": [{"email": "…", "displayName": "…"}],
     "resources": [{"name": "…", "operators": ["EMAIL", …]}],
     "tokens": [{"name": "…", "operator": "EMAIL", "resources": ["NAME", …], "expiresAt": null,
                 "settings": {…}, "rules": [{"ruleType", "pattern", "action", "description"}]}],
     "documents": [{"name": "…", "document": "…", "method": "GET", "path": "…", "status": 200,
                    "description": null}]}
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.operations.documents.collection import NamedDocument
from gateway.operations.inputs import DisplayName, EmailAddress, Input, Name, ShortText, Time
from gateway.operations.rules import MAX_RULES
from gateway.operations.validation import parse_file
from policy import grants, patterns
from policy.refusals import Detail, InvalidInput
from policy.settings import OF_NEW_TOKENS
from policy.vocabulary import Code, RuleAction, RuleType

VERSION = 1
RuleKey = tuple[str, str, str]  # type, normalized pattern, action: they identify a rule


class OperatorEntry(Input):
    email: EmailAddress
    display_name: DisplayName


class ResourceEntry(Input):
    name: Name
    operators: list[EmailAddress] = Field(default_factory=list)


class RuleEntry(Input):
    rule_type: RuleType = Field(strict=False)
    pattern: str
    action: RuleAction = Field(strict=False)
    description: ShortText | None = None

    @property
    def key(self) -> RuleKey:
        """
        The identity of the rule.

        Raises:
            InvalidInput: The type takes no such pattern.
        """
        pattern = patterns.normalize(self.rule_type, self.pattern, self.action)
        return self.rule_type.value, pattern, self.action.value


class TokenEntry(Input):
    name: Name
    operator: EmailAddress
    resources: list[Name] = Field(default_factory=list)
    expires_at: Time | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    rules: Annotated[list[RuleEntry], Field(max_length=MAX_RULES)] = Field(default_factory=list)

    def full_settings(self, stored: Mapping[str, object] = OF_NEW_TOKENS) -> dict[str, object]:
        """Return every setting; those that are not named have their defaults, see `validate`."""
        return grants.validate(self.settings, stored)

    @property
    def keyed_rules(self) -> dict[RuleKey, str | None]:
        """Identity of each rule -> its description."""
        return {rule.key: rule.description for rule in self.rules}


class Policy(Input):
    version: Literal[1]
    operators: list[OperatorEntry] = Field(default_factory=list)
    resources: list[ResourceEntry] = Field(default_factory=list)
    tokens: list[TokenEntry] = Field(default_factory=list)
    documents: list[NamedDocument] = Field(default_factory=list)


def parse(text: str) -> Policy:
    """
    Parse a document and check all of it.

    Raises:
        CommandError: The text is not JSON.
        InvalidInput: `VALIDATION_ERROR`; each detail names the member.
    """
    policy = parse_file(Policy, text)
    require_valid(
        [
            *_repeated("operators", (operator.email for operator in policy.operators)),
            *_repeated("resources", (resource.name for resource in policy.resources)),
            *_repeated("tokens", (token.name for token in policy.tokens)),
            *_repeated("documents", (document.name for document in policy.documents)),
            *token_errors(policy.tokens),
        ]
    )
    return policy


def require_valid(errors: list[Detail]) -> None:
    """
    Do nothing when there are no *errors*.

    Raises:
        InvalidInput: `VALIDATION_ERROR` with them.
    """
    if errors:
        message = "The file is invalid."
        raise InvalidInput(message, code=Code.VALIDATION_ERROR, details=errors)


def token_errors(tokens: Iterable[TokenEntry]) -> Iterator[Detail]:
    """Yield the settings and rules of *tokens* that are invalid, and the rules that repeat."""
    for position, token in enumerate(tokens):
        path = f"tokens[{position}]"
        try:
            grants.validate(token.settings)
        except InvalidInput as error:
            for detail in error.details:
                yield Detail(f"{path}.{detail.field}", detail.message)
        keys = set()
        for number, rule in enumerate(token.rules):
            try:
                key = rule.key
            except InvalidInput as error:
                yield Detail(f"{path}.rules[{number}].pattern", error.message)
                continue
            if key in keys:
                yield Detail(f"{path}.rules[{number}]", "is there already")
            keys.add(key)


def _repeated(member: str, names: Iterable[str]) -> Iterator[Detail]:
    seen = set()
    for position, name in enumerate(names):
        if name in seen:
            yield Detail(f"{member}[{position}]", "has the same name as another one")
        seen.add(name)
