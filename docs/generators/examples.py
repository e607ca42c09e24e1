"""
Runs the examples of the pages and of the REST reference, and writes their answers:
`./run examples`.

It needs `faketime`, `curl` and `jq`. A test runs them too, and compares.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from demo_gateway import ROOT, CannotStart, running
from operation_examples import collect
from page_examples import ExampleFailed, filled_pages

OPERATIONS = "src/rest_compat/openapi/examples.json"


def results() -> Iterator[tuple[str, str]]:
    """
    Yield file names and their texts with present answers, from two new demos.

    Raises:
        CannotStart: A demo did not start.
        ExampleFailed, ValueError: An example failed.
    """
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as demo:
        yield OPERATIONS, json.dumps(collect(demo), indent=1, ensure_ascii=False) + "\n"
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as demo:
        yield from filled_pages(demo)


def main() -> None:
    """Write all files anew."""
    try:
        for name, text in results():
            (ROOT / name).write_text(text, "utf-8")
    except (CannotStart, ExampleFailed, ValueError) as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
