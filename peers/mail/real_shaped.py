"""Mixtures of real messages: those of the test data of this project and of the interpreter."""

import ast
import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from textwrap import dedent

import test.test_email

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    (ROOT / "tests" / "real_cases" / "mail", "*.eml"),
    (Path(test.test_email.__file__).parent / "data", "msg_*.txt"),
)


@cache
def samples() -> Sequence[tuple[str, bytes]]:
    """Return the names and bytes of the real messages."""
    found = [path for folder, pattern in FOLDERS for path in sorted(folder.glob(pattern))]
    modules = sorted(Path(test.test_email.__file__).parent.glob("test_*.py"))
    return [
        *((path.stem, path.read_bytes()) for path in found),
        *(sample for module in modules for sample in _within(module)),
    ]


def _within(module: Path) -> Sequence[tuple[str, bytes]]:
    """Return the messages among the texts of a test module, by module and digest."""
    found = {}
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            value = node.value
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            text = dedent(text).lstrip("\n")
            if _MESSAGE.match(text):
                encoding = "latin-1" if isinstance(value, bytes) else "utf-8"
                raw = text.encode(encoding, "surrogateescape")
                found[raw] = f"{module.stem} {sha256(raw).hexdigest()[:6]}", raw
    return list(found.values())


# A field, then more fields, and an empty line before a content.
_MESSAGE = re.compile(r"[A-Za-z][A-Za-z-]{1,30}:[^\n]*\n(?:[^\n]+\n)*\r?\n.", re.DOTALL)


def real_shaped(chance: Random) -> dict[str, object]:
    """Return a message with the fields of some real ones and the content of another."""
    (name, first), (other, second) = chance.choice(samples()), chance.choice(samples())
    raw, change = chance.choice(CHANGES)(chance, first, second)
    return {"raw": raw, "forms": {"all": [name, other, change]}}


def _split(raw: bytes) -> tuple[list[bytes], bytes]:
    """Return the header fields with their line ends, and the content."""
    end = re.search(rb"\r?\n\r?\n", raw)
    head, body = (raw[: end.start()], raw[end.end() :]) if end else (raw, b"")
    fields = re.split(rb"\r?\n(?![ \t])", head.rstrip(b"\r\n"))
    return [one + b"\r\n" for one in fields if one], body


def _is_of_content(line: bytes) -> bool:
    return line[:8].lower() in (b"content-", b"mime-ver")


def _as_it_is(chance: Random, first: bytes, second: bytes) -> tuple[bytes, str]:
    return first, "as it is"


def _other_fields(chance: Random, first: bytes, second: bytes) -> tuple[bytes, str]:
    fields, body = _split(first)
    others, _ = _split(second)
    mixed = [line for line in fields if _is_of_content(line)]
    mixed += [line for line in others if not _is_of_content(line)]
    return b"".join(mixed) + b"\r\n" + body, "fields of another"


def _line_feeds(chance: Random, first: bytes, second: bytes) -> tuple[bytes, str]:
    return first.replace(b"\r\n", b"\n"), "line feeds"


def _two_parts(chance: Random, first: bytes, second: bytes) -> tuple[bytes, str]:
    fields, body = _split(first)
    parts = []
    for raw in (first, second):
        lines, content = _split(raw)
        parts.append(b"".join(filter(_is_of_content, lines)) + b"\r\n" + content)
    outer = b"".join(line for line in fields if not _is_of_content(line))
    mark = b"outer%d" % chance.randrange(10**9)
    content = b"".join(b"--" + mark + b"\r\n" + part + b"\r\n" for part in parts)
    head = b'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="' + mark + b'"\r\n\r\n'
    return outer + head + content + b"--" + mark + b"--\r\n", "two contents"


def _attached(chance: Random, first: bytes, second: bytes) -> tuple[bytes, str]:
    fields, _ = _split(first)
    outer = b"".join(line for line in fields if not _is_of_content(line))
    head = b'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="outer"\r\n\r\n'
    attached = b"Content-Type: message/rfc822\r\nContent-Disposition: attachment\r\n\r\n" + second
    text = b"--outer\r\nContent-Type: text/plain\r\n\r\nsee below\r\n"
    return outer + head + text + b"--outer\r\n" + attached + b"\r\n--outer--\r\n", "attached"


def _shuffled(chance: Random, first: bytes, second: bytes) -> tuple[bytes, str]:
    fields, body = _split(first)
    chance.shuffle(fields)
    return b"".join(fields) + b"\r\n" + body, "fields in another order"


def _cut(chance: Random, first: bytes, second: bytes) -> tuple[bytes, str]:
    return first[: chance.randrange(len(first) // 2, len(first))], "cut"


CHANGES = (
    _as_it_is,
    _other_fields,
    _other_fields,
    _line_feeds,
    _two_parts,
    _two_parts,
    _attached,
    _shuffled,
    _cut,
)
