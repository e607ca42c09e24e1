"""The explorer's packages: no telemetry, and the DOMPurify of the lock in the built page."""

import json
import re

from paths import REPOSITORY

LOCK = json.loads((REPOSITORY / "explorer" / "package-lock.json").read_text())["packages"]
ASSETS = REPOSITORY / "src" / "graph" / "static" / "explorer" / "assets"


def test_the_telemetry_of_swagger_ui_is_an_empty_package():
    scarf = {place: package for place, package in LOCK.items() if place.endswith("@scarf/scarf")}

    assert scarf == {"node_modules/@scarf/scarf": {"resolved": "no-telemetry", "link": True}}
    files = [path.name for path in (REPOSITORY / "explorer" / "no-telemetry").iterdir()]
    assert files == ["package.json"]


def test_the_page_has_the_sanitizer_of_the_lock_and_no_other():
    locked = LOCK["node_modules/dompurify"]["version"]
    built = re.compile(r"\.version=[`'\"](\d+\.\d+\.\d+)[`'\"],\w+\.removed=")
    versions = [
        version
        for path in ASSETS.glob("*.js")
        for version in built.findall(path.read_text(encoding="utf-8"))
    ]

    assert versions == [locked]
