"""
Recipient rules: to whom a token may write (docs/spec/recipients.md).

Rules and recipients are compared in one normal form. A recipient without one matches nothing, so it
passes only where everyone may be written to.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

EVERYONE = "*"
MAX_ADDRESS = 320  # characters; checked first, because IDNA takes quadratic time

_QUOTED_LOCAL_PART = re.compile(r'"((?:[^"\\]|\\.)*)"')
_UNQUOTED_SPECIALS = re.compile(r'[\s()<>\[\],;:\\"@]')
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*")
_ADDRESS_LITERAL = re.compile(r"\[[a-z0-9.:]+\]")
# Read as other letters, or as none, by IDNA 2003; as letters of their own by IDNA 2008. Which host
# they name depends on the mail system.
_AMBIGUOUS = frozenset("\u00df\u03c2\u200c\u200d")


class Recipient(NamedTuple):
    """
    A recipient of a write.

    Attributes:
        address: None when it cannot be told: a link for anyone, a person named by an id.
        path: Of the member by which the caller named it ("to[0].email"); None: it was derived.
    """

    address: str | None
    path: str | None = None


class RecipientRules(msgspec.Struct, frozen=True):
    """The setting `recipientRules`; patterns are in normal form."""

    allow: frozenset[str]
    block: frozenset[str]

    def allows(self, address: str | None) -> bool:
        """Return whether *address* is allowed; None stands for one that cannot be told."""
        return self.allows_normal(None if address is None else normalize(address))

    @property
    def allows_everyone(self) -> bool:
        """Whether the rules exclude nobody, not even one whose address cannot be told."""
        return self.allows_normal(None)

    def allows_no_more_than(self, other: "RecipientRules") -> bool:
        """
        Return whether *other* allows every recipient that these rules allow.

        Addresses that no pattern tells apart are allowed alike, so one of each kind is asked.
        """
        patterns = (self.allow | self.block | other.allow | other.block) - {EVERYONE}
        unseen = "x" * (
            1 + max(map(len, patterns), default=0)
        )  # longer than what any pattern names
        domains = {pattern.rpartition("@")[2] for pattern in patterns} | {unseen}
        named = {pattern for pattern in patterns if not pattern.startswith("@")}
        addresses = (None, *named, *(f"{unseen}@{domain}" for domain in domains))
        return all(
            other.allows_normal(address) for address in addresses if self.allows_normal(address)
        )

    def intersection(self, other: "RecipientRules") -> "RecipientRules":
        """Return the rules that allow exactly the recipients that both allow."""
        return RecipientRules(
            frozenset(
                pattern
                for ours, theirs in ((self.allow, other.allow), (other.allow, self.allow))
                for pattern in ours
                if not _wider_patterns(pattern).isdisjoint(theirs)
            ),
            self.block | other.block,
        )

    def allows_normal(self, address: str | None) -> bool:
        """Return the same for an address in normal form."""
        if address is None:
            return EVERYONE in self.allow and not self.block
        matching = patterns_of(address)
        return not matching.isdisjoint(self.allow) and matching.isdisjoint(self.block)


EVERYBODY = RecipientRules(frozenset({EVERYONE}), frozenset())  # what null means


def patterns_of(address: str) -> frozenset[str]:
    """Return every pattern that matches *address*, which is in normal form."""
    return frozenset((address, f"@{address.rpartition('@')[2]}", EVERYONE))


def _wider_patterns(pattern: str) -> frozenset[str]:
    """Return every pattern that matches all that *pattern* matches, itself included."""
    if pattern == EVERYONE or pattern.startswith("@"):
        return frozenset((pattern, EVERYONE))
    return patterns_of(pattern)


def normalize_pattern(pattern: str) -> str | None:
    """Return the normal form of `*`, "@domain" or an address; None of anything else."""
    pattern = pattern.strip()
    if pattern == EVERYONE:
        return pattern
    if pattern.startswith("@"):
        domain = _normalize_domain(pattern[1:])
        return domain and f"@{domain}"
    return normalize(pattern)


def normalize(address: str) -> str | None:
    """Return the normal form of *address*; None when it has none."""
    address = address.strip()
    if len(address) > MAX_ADDRESS or _CONTROLS.search(address):
        return None
    local, _, domain = address.rpartition("@")
    quoted = _QUOTED_LOCAL_PART.fullmatch(local)
    if quoted is not None:
        local = re.sub(r"\\(.)", r"\1", quoted[1])
    elif _UNQUOTED_SPECIALS.search(local):
        return None
    name, _, _ = local.partition("+")
    mailbox = unicodedata.normalize("NFC", (name or local).lower())
    host = _normalize_domain(domain)
    return f"{mailbox}@{host}" if mailbox and host else None


def _normalize_domain(domain: str) -> str | None:
    """Return *domain* in lower case, with A-labels (RFC 5890) and without a final dot."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", domain).lower())
    if len(folded) > MAX_ADDRESS or not _AMBIGUOUS.isdisjoint(folded):
        return None
    if _ADDRESS_LITERAL.fullmatch(folded):
        return folded
    try:
        host = folded.encode("idna").decode().lower().removesuffix(".")
    except UnicodeError:
        return None
    return host if _HOST.fullmatch(host) else None


def read_rules(stored: Mapping[str, Iterable[str]]) -> RecipientRules:
    """Read rules in their stored form."""
    return RecipientRules(frozenset(stored["allow"]), frozenset(stored["block"]))
