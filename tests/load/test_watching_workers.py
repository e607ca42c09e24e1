"""Metrics of several workers are merged, and spans reach a collector."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from gateway_processes import ADMIN, prepare, serving, upstreams
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

pytestmark = pytest.mark.slow
CALLS = 40


@pytest.fixture
def collector():
    """An OTLP collector: its base URL, and the spans that it was sent."""
    spans = []

    class Collect(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                request = ExportTraceServiceRequest.FromString(body)
                for resource in request.resource_spans:
                    for scope in resource.scope_spans:
                        spans.extend(scope.spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collect)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", spans
    server.shutdown()
    server.server_close()


def test_any_worker_exposes_the_metrics_of_all(tmp_path):
    with serving(tmp_path, "--workers", "2") as gateway:
        for _ in range(CALLS):  # a connection each, so that both workers get some
            assert httpx.get(f"{gateway.base}/api/operators", headers=ADMIN).status_code == 200
        texts = {httpx.get(f"{gateway.base}/metrics", headers=ADMIN).text for _ in range(6)}

    counted = r'agw_requests_total\{method="GET",route="/api/operators",status="200"\} (\S+)'
    assert {float(re.search(counted, text)[1]) for text in texts} == {float(CALLS)}
    assert {float(re.search(r"(?m)^agw_requests_active (\S+)", text)[1]) for text in texts} == {1.0}


def test_spans_reach_the_collector(tmp_path, collector):
    endpoint, spans = collector
    with upstreams(tmp_path) as behind:
        settings = {**behind.settings, "AGW_TRACES_ENDPOINT": endpoint}
        with serving(tmp_path, **settings) as gateway:
            known = prepare(gateway.base, behind.tokens)
            url = f"{gateway.base}/api/access/email/messages?q=canary-word&limit=1"
            assert httpx.get(url, headers=known.bearer, timeout=30).status_code == 200
        # The last spans are sent while the gateway ends, so they are here now.

    names = [span.name for span in spans]
    assert "GET /api/access/email/messages" in names
    assert "GET PROVIDER_A" in names
    assert "GET PROVIDER_B" in names
    assert "canary" not in str(spans)
    assert "example" not in str(spans)
