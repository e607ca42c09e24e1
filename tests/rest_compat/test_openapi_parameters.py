"""Query parameters in `openapi.json`: aliases are described, and what must be there is required."""

import json
from pathlib import Path

import pytest

from rest_compat.table import ENDPOINTS

DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi.json").read_text())
NEEDED = {
    ("GET", "/api/access/people"): {"name"},
    ("GET", "/api/access/calendar/freebusy"): {"from", "to"},
    ("GET", "/api/access/collab/search"): {"q"},
    ("POST", "/api/access/collab/files/upload"): {"folderId"},  # a form may bring the name
}


def query_parameters(row):
    described = DOCUMENT["paths"][row.path][row.method.lower()].get("parameters", ())
    return {each["name"]: each for each in described if each.get("in") == "query"}


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.path}")
def test_a_row_describes_its_aliases_and_required_parameters(row):
    parameters = query_parameters(row)

    required = {name for name, parameter in parameters.items() if parameter["required"]}
    assert required == NEEDED.get((row.method, row.path), set())
    deprecated = {name for name, parameter in parameters.items() if "deprecated" in parameter}
    assert deprecated == set(row.aliases)
    for alias, name in row.aliases.items():
        schema = {key: parameters[name]["schema"][key] for key in parameters[name]["schema"]}
        schema.pop("default", None)
        assert parameters[alias]["schema"] == schema
        assert parameters[alias]["description"] == f"Another name of `{name}`."
