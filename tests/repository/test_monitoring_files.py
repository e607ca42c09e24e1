"""The dashboard and the alert rules name metrics and labels that exist; each alert is explained."""

import json
import re

import pytest
import yaml
from paths import REPOSITORY

from gateway.telemetry.metrics import Metrics

FOLDER = REPOSITORY / "deploy" / "monitoring"
_METRIC = re.compile(r"\bagw_[a-z_]+")
_SELECTOR = re.compile(r"\b(agw_[a-z_]+)\{([^}]*)\}")
_GROUPING = re.compile(r"\bby \(([a-z_, ]+)\)")


@pytest.fixture(scope="module")
def labels():
    """Name of a series -> its labels."""
    series = {}
    for family in Metrics().families():
        endings = ("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)
        for ending in endings:
            extra = {"le"} if ending == "_bucket" else set()
            series[family.name + ending] = {*family.labels, *extra}
    return series


def alerts():
    (group,) = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    return group["rules"]


def panels():
    return json.loads((FOLDER / "dashboard.json").read_text())["panels"]


def expressions():
    yield from ((rule["alert"], rule["expr"]) for rule in alerts())
    for panel in panels():
        yield from ((panel["title"], target["expr"]) for target in panel["targets"])


def problems(expression, labels):
    """Return what *expression* names that no metric has."""
    named = set(_METRIC.findall(expression))
    unknown = named - labels.keys()
    known = set().union(*(labels.get(name, set()) for name in named))
    for name, selector in _SELECTOR.findall(expression):
        used = set(re.findall(r"([a-z_]+)\s*[=!]~?", selector))
        unknown |= used - labels.get(name, set())
    for grouping in _GROUPING.findall(expression):
        unknown |= {label.strip() for label in grouping.split(",")} - known
    return unknown


@pytest.mark.parametrize(("title", "expression"), list(expressions()))
def test_expressions_name_metrics_and_labels_that_exist(labels, title, expression):
    assert problems(expression, labels) == set(), title


@pytest.mark.parametrize(
    ("expression", "unknown"),
    [
        ("rate(agw_nothing_total[5m])", {"agw_nothing_total"}),
        ("rate(agw_request_seconds[5m])", {"agw_request_seconds"}),
        ('agw_connections{state="x"}', {"state"}),
        ("sum by (upstream) (agw_requests_active)", {"upstream"}),
    ],
)
def test_what_does_not_exist_is_noticed(labels, expression, unknown):
    assert problems(expression, labels) == unknown


def test_each_metric_is_on_the_dashboard(labels):
    shown = {name for _, expression in expressions() for name in _METRIC.findall(expression)}

    assert {name for name in labels if not name.endswith(("_sum", "_count"))} <= shown


def test_each_alert_has_its_heading_in_the_runbook():
    runbook = (REPOSITORY / "docs/operate/runbook.md").read_text()
    headings = re.findall(r"^### (\w+)$", runbook, re.MULTILINE)

    assert headings == [rule["alert"] for rule in alerts()]
    assert all({"summary"} == set(rule["annotations"]) for rule in alerts())


def test_panels_do_not_overlap():
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()]

    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in panels()}) == len(places)
