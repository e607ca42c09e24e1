"""
Runs the examples of documentation pages against the demo, and writes their answers into the pages.

In the pages below, every fenced block marked `sh` is run by bash, all blocks of a page in one
shell, and one marked `python` by Python. A block marked `json` or `text` that follows holds what it
printed: `json` with long texts and lists cut. Blocks without a mark are not run.
"""

import json
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from demo_gateway import ROOT, DemoGateway
from stable_values import PUBLIC, stable

PAGES = (
    "README.md",
    "docs/guides/graphql.md",
    *sorted(
        str(page.relative_to(ROOT))
        for folder in ("start", "rest", "operate")
        for page in (ROOT / "docs" / folder).glob("*.md")
    ),
    "docs/guides/saved-documents.md",  # near the end, because it adds a token
    "docs/guides/agents.md",  # so does this one
)
WIDTH = 100
_BLOCK = re.compile(
    r"^```(?P<language>sh|python)\n(?P<script>.*?)^```\n"
    r"(?:\n```(?P<kind>json|text)\n(?P<answer>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
_END = "\x1e"  # ends the output of a block


class ExampleFailed(Exception):
    """A block of a page failed; the message names it."""


def filled_pages(demo: DemoGateway) -> Iterator[tuple[str, str]]:
    """
    Run the examples of every page; yield each page's name and its text with present answers.

    Raises:
        ExampleFailed: A block exits with an error, or prints something and has no answer.
    """
    for name in PAGES:
        if (ROOT / name).exists():
            text = (ROOT / name).read_text("utf-8")
            yield name, _filled(name, text, demo)


def _filled(name: str, text: str, demo: DemoGateway) -> str:
    scripts = [_as_shell(match) for match in _BLOCK.finditer(text)]
    if not scripts:
        return text
    outputs = iter(_outputs(name, scripts, demo))

    def answered(match: re.Match[str]) -> str:
        output = next(outputs)
        shown = f"```{match['language']}\n{match['script']}```\n"
        if match["kind"] is None:
            if output.strip():
                raise ExampleFailed(f"{name}: no answer follows\n{match['script']}")
            return shown
        answer = _answer(output, match["kind"], demo.base_url)
        return f"{shown}\n```{match['kind']}\n{answer}\n```\n"

    return _BLOCK.sub(answered, text)


def _as_shell(block: re.Match[str]) -> str:
    if block["language"] == "sh":
        return block["script"]
    return f"{shlex.quote(sys.executable)} - <<'END'\n{block['script']}END\n"


def _outputs(name: str, scripts: list[str], demo: DemoGateway) -> list[str]:
    script = "".join(
        f"{block.replace(PUBLIC, demo.base_url)}\nprintf '{_END}'\n" for block in scripts
    )
    with tempfile.TemporaryDirectory() as folder:
        done = demo.run(script, Path(folder))
    outputs = done.stdout.split(_END)[:-1]
    if done.returncode or len(outputs) != len(scripts):
        failed = scripts[min(len(outputs), len(scripts) - 1)]
        raise ExampleFailed(f"{name}: exit code {done.returncode}\n{failed}\n{done.stderr}")
    return outputs


def _answer(output: str, kind: str, base_url: str) -> str:
    if kind == "text":
        return output.replace(base_url, PUBLIC).strip("\n")
    value = json.loads(output)
    return pretty(stable(value, base_url=base_url, mark=True))


def pretty(value: Any, indent: int = 0) -> str:
    """Return JSON in which whatever fits on a line stands on a line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    inner = " " * (indent + 2)
    if isinstance(value, Mapping):
        rows = [
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {pretty(member, indent + 2)}"
            for key, member in value.items()
        ]
        return "{\n" + ",\n".join(rows) + "\n" + " " * indent + "}"
    rows = [inner + pretty(item, indent + 2) for item in value]
    return "[\n" + ",\n".join(rows) + "\n" + " " * indent + "]"
