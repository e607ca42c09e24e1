"""
Recipient rules: to whom a token may write (docs/spec/recipients.md).

Rules and recipients are compared in one normal form. A recipient without one matches nothing, so it
passes only where everyone may be written to.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import idna
import msgspec

EVERYONE = "*"
NO_NORMAL_FORM = "It is not an e-mail address that every mail system reads alike."
MAX_ADDRESS = 320  # characters; checked first, because IDNA takes quadratic time
MAX_DOMAIN = 254  # characters, with a final dot (RFC 1035, 2.3.4)
MAX_LABEL = 63  # characters of a label of a domain (RFC 1035, 2.3.4)

_QUOTED_LOCAL_PART = re.compile(r'"((?:[^"\\]|\\.)*)"')
_UNQUOTED_SPECIALS = re.compile(r'[\s()<>\[\],;:\\"@]')
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*")
_ADDRESS_LITERAL = re.compile(r"\[[a-z0-9.:]+\]")
# Read as other letters, or as none, by IDNA 2003; as letters of their own by IDNA 2008. Which host
# they name depends on the mail system.
_AMBIGUOUS = frozenset("\u00df\u03c2\u200c\u200d")
_A_LABEL = "xn--"


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
    parts = _split(address)
    if parts is None:
        return None
    mailbox = _normalize_local_part(parts[0])
    return f"{mailbox}@{parts[1]}" if mailbox else None


def as_written(address: str) -> str | None:
    """
    Return *address* as it is written to its recipient; None when it has no normal form.

    The domain is that of the normal form, so rules and mail systems read the same host. Case,
    plus-tag and quotes of the local part stay.
    """
    parts = _split(address)
    return "@".join(parts) if parts and _normalize_local_part(parts[0]) else None


def _split(address: str) -> tuple[str, str] | None:
    """Return the local part in NFC, with its quotes, and the domain in normal form."""
    address = address.strip()
    if len(address) > MAX_ADDRESS or _CONTROLS.search(address):
        return None
    local, _, domain = address.rpartition("@")
    local = unicodedata.normalize("NFC", local)  # first: it makes a semicolon of U+037E
    if _QUOTED_LOCAL_PART.fullmatch(local) is None and _UNQUOTED_SPECIALS.search(local):
        return None
    host = _normalize_domain(domain)
    return (local, host) if host else None


def _normalize_local_part(local: str) -> str:
    quoted = _QUOTED_LOCAL_PART.fullmatch(local)
    if quoted is not None:
        local = re.sub(r"\\(.)", r"\1", quoted[1])
    name, _, _ = local.partition("+")
    # Letter by letter: the lower case of a final sigma depends on the letters around it.
    return unicodedata.normalize("NFC", "".join(map(str.lower, name or local)))


@lru_cache(maxsize=4096)  # domains of stored rules, which are read again and again
def _normalize_domain(domain: str) -> str | None:
    """Return *domain* in lower case, with A-labels (RFC 5890) and without a final dot."""
    if len(domain) > MAX_DOMAIN:
        return None
    if _ADDRESS_LITERAL.fullmatch(domain.lower()):
        return domain.lower()
    try:
        mapped = domain.lower() if domain.isascii() else _map(domain)
        host = mapped if domain.isascii() else idna.encode(mapped).decode("ascii")
    except UnicodeError:
        return None
    host = host.removesuffix(".")
    valid = _HOST.fullmatch(host) and _AMBIGUOUS.isdisjoint(mapped)
    return host if valid and all(map(_is_one_host, host.split("."))) else None


def _is_one_host(label: str) -> bool:
    """Whether a label is not an A-label of text that UTS 46 would write in another way."""
    if not label.startswith(_A_LABEL):
        return len(label) <= MAX_LABEL
    try:
        text = label.removeprefix(_A_LABEL).encode().decode("punycode")
        return not text.isascii() and _map(text) == text and _a_label(text) == label
    except UnicodeError:
        return False


def _map(text: str) -> str:
    """Apply the mapping of UTS 46, without its transitional rules."""
    return idna.uts46_remap(text, std3_rules=False, transitional=False)


def _a_label(text: str) -> str:
    return _A_LABEL + text.encode("punycode").decode()


def read_rules(stored: Mapping[str, Iterable[str]]) -> RecipientRules:
    """Read rules in their stored form."""
    return RecipientRules(frozenset(stored["allow"]), frozenset(stored["block"]))
