"""Spans have route, provider and outcome, and no personal data."""

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway import infrastructure
from gateway.telemetry.tracing import Tracing

CANARY = "canary-90ab"
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture(autouse=True)
def exporter(monkeypatch):
    """Stands for the collector of a gateway that starts now."""
    exporter = InMemorySpanExporter()
    tracing = Tracing(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(infrastructure, "open_tracing", lambda _: tracing)
    return exporter


@pytest.fixture
def spans(exporter, client):
    """Return the spans sent to the collector since the client was created."""
    exporter.clear()
    return exporter.get_finished_spans


def attributes_of(span):
    return span.name, dict(span.attributes), span.status.is_ok or span.status.is_unset


async def test_a_request_and_its_upstream_calls_are_one_trace(world, client, spans):
    answer = await client.get(f"/api/access/email/messages/{world.id('lease')}")

    assert answer.status_code == 200
    *others, upstream, request = spans()
    assert [span.name for span in others] == ["GET PROVIDER_A"]  # the names of the labels
    assert attributes_of(upstream) == (
        "GET PROVIDER_A",
        {"http.request.method": "GET", "agw.upstream": "PROVIDER_A", "agw.outcome": "200"},
        True,
    )
    assert attributes_of(request) == (
        "GET /api/access/email/messages/{emailId}",
        {
            "http.request.method": "GET",
            "http.route": "/api/access/email/messages/{emailId}",
            "http.response.status_code": 200,
        },
        True,
    )
    assert upstream.parent.span_id == request.context.span_id
    assert upstream.context.trace_id == request.context.trace_id
    assert request.start_time <= upstream.start_time <= upstream.end_time <= request.end_time
    assert dict(request.resource.attributes) == {"service.name": "access-gateway"}


async def test_a_failing_upstream_is_an_error_of_both(world, client, spans, exporter):
    await world.fail("provider-a", kind="500", count=5)
    exporter.clear()
    answer = await client.get(f"/api/access/email/messages/{world.id('lease')}")

    assert answer.status_code == 502
    *tries, request = spans()
    assert [attributes_of(span)[1]["agw.outcome"] for span in tries] == ["500"] * len(tries)
    assert not any(attributes_of(span)[2] for span in (*tries, request))


async def test_a_callers_trace_is_joined_by_its_numbers_alone(client, spans):
    sent = {
        "traceparent": f"00-{TRACE}-{PARENT}-01",
        "tracestate": f"vendor={CANARY}",
        "baggage": f"user={CANARY}",
    }
    await client.get("/api/access/token", headers=sent)

    (request,) = spans()
    assert f"{request.context.trace_id:032x}" == TRACE
    assert f"{request.parent.span_id:016x}" == PARENT
    assert len(request.context.trace_state) == 0


@pytest.mark.parametrize(
    "sent",
    [
        CANARY,
        f"00-{TRACE}",
        f"00-{TRACE}-{PARENT}-zz",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE[:-1]}-{PARENT}-01",
        f"ff-{TRACE}-{PARENT}-01",
    ],
)
async def test_a_malformed_traceparent_is_ignored(client, spans, sent):
    await client.get("/api/access/token", headers={"traceparent": sent})

    (request,) = spans()
    assert request.parent is None
    assert f"{request.context.trace_id:032x}" != TRACE


async def test_no_trace_header_is_sent_upstream(world, client):
    await client.get(f"/api/access/email/messages/{world.id('lease')}")

    header_names = {name.lower() for call in world.calls() for name in call["headers"]}
    assert "accept" in header_names
    assert not {"traceparent", "tracestate", "baggage"} & header_names


async def test_no_id_word_or_address_is_in_a_span(world, client, token, spans):
    mine = {"X-Request-Id": "asked-1"}
    await client.get(f"/api/access/email/messages/providerA:{CANARY}?q={CANARY}", headers=mine)
    await client.get(f"/api/access/email/messages?q={CANARY}&from={CANARY}@x.example", headers=mine)
    await client.request(CANARY.upper(), f"/{CANARY}", headers=mine)
    query = f'query {CANARY.replace("-", "_")} {{ emails(q: "{CANARY}") {{ totalCount }} }}'
    await client.post("/graphql", json={"query": query}, headers=mine)

    written = " ".join(span.to_json() for span in spans()).lower()
    assert len(spans()) > 4
    for secret in ("asked-1", CANARY, CANARY.replace("-", "_"), token.lower(), "example"):
        assert secret not in written


async def test_the_global_tracer_provider_records_nothing(world, monkeypatch):
    everything = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(everything))
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
    answer = await world.admin.get(f"/api/operators?pageToken={CANARY}")

    assert answer.status_code == 400
    assert everything.get_finished_spans() == ()
