"""The saved documents that a token may run (docs/spec/saved-documents.md#token-settings)."""

from collections.abc import Collection

import msgspec

ANY, SAVED = "any", "saved"


class DocumentRules(msgspec.Struct, frozen=True):
    """
    A limit to saved documents; a token without one runs every call and every document.

    Attributes:
        names: Of the documents; None means every saved one.
    """

    names: frozenset[str] | None

    def allows(self, names: Collection[str]) -> bool:
        """
        Return whether a call may run.

        *names* are those of the saved documents that it runs: several may have one text. Empty: it
        runs none.
        """
        return bool(names) if self.names is None else not self.names.isdisjoint(names)

    def allows_no_more_than(self, other: "DocumentRules | None") -> bool:
        """Return whether *other* allows every call that these rules allow; None allows all."""
        if other is None or other.names is None:
            return True
        return self.names is not None and self.names <= other.names

    def intersection(self, other: "DocumentRules") -> "DocumentRules":
        """
        Return the rules that allow what both allow by the name of one document.

        A text that is saved under two names, of which each side has one, is not allowed.
        """
        if self.names is None or other.names is None:
            return other if self.names is None else self
        return DocumentRules(self.names & other.names)


def read_documents(value: object) -> DocumentRules | None:
    """Read a setting in its stored form."""
    if isinstance(value, list | tuple):
        return DocumentRules(frozenset(str(name) for name in value))
    return None if value == ANY else DocumentRules(None)


def stored_form(rules: DocumentRules | None) -> object:
    """Return the stored form of *rules*."""
    if rules is None:
        return ANY
    return SAVED if rules.names is None else sorted(rules.names)
