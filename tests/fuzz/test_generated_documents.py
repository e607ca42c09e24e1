"""
Generated GraphQL documents against a running gateway: refused or answered, never broken.

Schemathesis counts every error in a GraphQL answer as the server's, so its generator is used here
with a check of our own: the status is 200 or 400, every error has a code that the specification
lists, and none is `INTERNAL_ERROR`. `TIMES` sends more of each kind.
"""

import demo_process
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_graphql import mutations, nodes, queries
from paths import REPOSITORY
from run_sizes import times
from spec_pages import first_table, section, words

pytestmark = pytest.mark.slow

DOCUMENTS = times(150)
SDL = (REPOSITORY / "schema.graphql").read_text()
TIMES = ["2026-11-20", "2026-11-20T12:00:00Z", "2026-11-20T12:00:00+01:00", "0001-01-01", "soon"]
SCALARS = {
    "DateTime": st.sampled_from(TIMES).map(nodes.String),
    "FileContent": st.sampled_from(["aGVsbG8=", "", "?"]).map(nodes.String),
    "JSON": st.text(max_size=9).map(nodes.String) | st.integers(-(2**70), 2**70).map(nodes.Int),
    "Long": st.integers(-(2**64), 2**64).map(nodes.Int),
}
CODE_TABLES = (
    "Request errors",
    "Authorization errors",
    "Missing resources",
    "State conflicts",
    "Provider and server errors",
)
_, _, ABOUT_DOCUMENTS = section("graphql", "Errors").partition("Codes about the document itself")
CODES = {
    *(
        code
        for table in CODE_TABLES
        for row in first_table("errors", table)
        for code in words(row[1])
    ),
    *(code for row in first_table("graphql", "Errors") for code in words(row[0])),
    *words(ABOUT_DOCUMENTS.partition(".")[0]),
}
GENEROUS = settings(
    max_examples=DOCUMENTS, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    with (
        demo_process.running(tmp_path_factory.mktemp("graph"), AGW_RATE_LIMITS="off") as manifest,
        httpx.Client(
            base_url=manifest["baseUrl"],
            headers={"Authorization": f"Bearer {manifest['tokens']['full']}"},
            timeout=60,
        ) as client,
    ):
        yield client


def check(graph, document):
    answer = graph.post("/graphql", json={"query": document})

    assert answer.status_code in {200, 400}, (document, answer.text)
    codes = {error["extensions"]["code"] for error in answer.json().get("errors", [])}
    assert codes <= CODES - {"INTERNAL_ERROR"}, (document, answer.text)


@GENEROUS
@given(document=st.deferred(lambda: queries(SDL, custom_scalars=SCALARS)))
def test_no_generated_query_breaks_the_graph(graph, document):
    check(graph, document)


@GENEROUS
@given(document=st.deferred(lambda: mutations(SDL, custom_scalars=SCALARS)))
def test_no_generated_mutation_breaks_the_graph(graph, document):
    check(graph, document)
