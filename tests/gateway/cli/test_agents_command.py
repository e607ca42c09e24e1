"""`agents` forwards lines to a gateway, and `token create --for-agent` tells how to set it up."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from agent_client import legacy, modern

from gateway.cli.commands.agents import Forwarder
from policy.grants import Grant, validate
from policy.presets import AGENT_PRESETS, AgentPreset

ANSWERS = {
    "tools/list": {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}},
    "broken": {"error": "OVERLOADED", "message": "Try again."},
}
LISTEN = "subscriptions/listen"
STREAM = (
    {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {}},
    {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete"}},
)


@pytest.fixture
def owner(run, deployed):
    """The only operator, with the only resource."""
    operator = run("operator", "add", "ada@example.test", "Ada").stdout.strip()
    run("resource", "add", "main", "--operator", operator)


@contextmanager
def gateway(requests):
    """Serve `/base/mcp`; keep path, headers and body of each request in *requests*."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            requests.append((self.path, dict(self.headers.items()), body))
            method = json.loads(body).get("method")
            if method == LISTEN:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for each in STREAM:
                    self.wfile.write(b"data: %b\n\n" % json.dumps(each).encode())
                    self.wfile.write(b":\n\n")
                return
            answer = ANSWERS.get(method)
            self.send_response(200 if answer else 202)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode() if answer else b"")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/base/"
        finally:
            server.shutdown()


def lines(*messages):
    return "".join(json.dumps(message) + "\n" for message in messages)


def test_messages_are_forwarded_with_the_token_and_mirrored_headers(tmp_path, run):
    requests, token = [], tmp_path / "token"
    token.write_text("agw_secret\n")
    new, headers = modern("tools/list")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    with gateway(requests) as url:
        done = run(
            "agents",
            "--url",
            url,
            "--token-file",
            str(token),
            input=lines({**legacy("tools/list"), "id": 7}, new, note, legacy("broken")) + "{\n\n",
        )

    assert done.exit_code == 0, done.stderr
    answers = {json.dumps(json.loads(line)) for line in done.stdout.splitlines()}
    failure = {"code": -32000, "message": "Try again."}
    parse = {"code": -32700, "message": "The line is not JSON."}
    assert answers == {
        json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"tools": []}}),
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}),
        json.dumps({"jsonrpc": "2.0", "id": 1, "error": failure}),
        json.dumps({"jsonrpc": "2.0", "id": None, "error": parse}),
    }
    assert {path for path, _, _ in requests} == {"/base/mcp"}
    assert {sent["authorization"] for _, sent, _ in requests} == {"Bearer agw_secret"}
    mirrored = [
        {name.lower(): value for name, value in sent.items()}
        for _, sent, body in requests
        if b"_meta" in body
    ]
    assert [{name: each[name.lower()] for name in headers} for each in mirrored] == [headers]


def test_each_message_of_a_stream_is_a_line_until_it_is_cancelled():
    message = json.dumps(modern(LISTEN, {"notifications": {}})[0])
    with gateway([]) as url:
        forwarder = Forwarder(url, "agw_secret")
        assert [json.loads(line) for line in forwarder.answers(message)] == list(STREAM)

        answers = forwarder.answers(message)
        assert json.loads(next(answers)) == STREAM[0]
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        for id_ in (2, 1):
            note = json.dumps({**cancelled, "params": {"requestId": id_}})
            assert list(forwarder.answers(note)) == []
        assert list(answers) == []


def test_a_gateway_that_is_not_there_is_an_answer(run, tmp_path):
    token = tmp_path / "token"
    token.write_text("agw_secret")
    words = ("agents", "--url", "http://127.0.0.1:1", "--token-file", str(token))

    done = run(*words, input=lines(legacy("ping")))

    (answer,) = done.stdout.splitlines()
    assert json.loads(answer)["error"]["code"] == -32000
    assert "No gateway answers at http://127.0.0.1:1" in answer


def test_a_token_is_required_and_is_never_an_argument(run, environment):
    done = run("agents", "--url", "http://127.0.0.1:1")

    assert done.exit_code == 1
    assert "A token is required" in done.stderr
    assert "--token " not in run("agents", "--help").stdout


@pytest.mark.parametrize("preset", AgentPreset)
def test_a_token_for_an_agent_has_the_settings_of_its_preset(run, owner, preset):
    done = run("token", "create", "assistant", "--for-agent", preset)
    shown = run("token", "show", "1", "--json")

    assert done.stdout.startswith("agw_")
    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.strip() not in done.stderr
    assert "claude mcp add --transport http access-gateway http" in done.stderr
    assert json.loads(done.stderr.splitlines()[-1])["mcpServers"]["access-gateway"]["args"][0] == (
        "agents"
    )
    expected = validate(AGENT_PRESETS[preset].settings)
    assert json.loads(shown.stdout)["settings"] == expected
    assert Grant.read(expected).email_enabled


def test_a_preset_and_one_for_agents_exclude_each_other(run, owner):
    words = ("token", "create", "x", "--for-agent")

    both = run(*words, "reader", "--preset", "full")
    unknown = run(*words, "robot")
    narrowed = run(*words, "full", "--settings", '{"sendMode": "draft"}', "--json")

    assert (both.exit_code, unknown.exit_code) == (2, 2)
    assert "reader, mailbox-assistant, supervised, full" in unknown.stderr
    settings = json.loads(narrowed.stdout)["settings"]
    assert (settings["sendMode"], settings["writes"]) == ("draft", "effect")
