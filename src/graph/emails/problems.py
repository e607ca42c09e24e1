"""Problems of an input, and text that no header may hold."""

import re

import msgspec

from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code

# Control characters, line breaks of Unicode, and halves of characters.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Problems(msgspec.Struct):
    """The problems of an input, which are reported together."""

    details: list[Detail] = msgspec.field(default_factory=list)

    def add(self, path: str, message: str) -> None:
        self.details.append(Detail(path, message))

    def raise_if_any(self) -> None:
        if self.details:
            message = f"{self.details[0].field}: {self.details[0].message}"
            raise InvalidInput(message, code=Code.VALIDATION_ERROR, details=self.details)


def unsafe(text: str) -> bool:
    """Return whether *text* could end or forge a header line, or cannot be encoded at all."""
    return _UNSAFE.search(text) is not None
