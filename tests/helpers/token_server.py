"""An authorization server of the tests' own: it renews access tokens and tells whose they are."""

import json
import secrets
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


class TokenServer:
    """
    A running server.

    Attributes:
        active: Access token -> its user.
        refreshing: Refresh token -> its user; each is good once.
        renewals: How many tokens it renewed.
    """

    def __init__(self):
        self.active = {}
        self.refreshing = {}
        self.renewals = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers.get("content-length", 0))
                pairs = parse_qs(self.rfile.read(length).decode()).items()
                form = {name: values[0] for name, values in pairs}
                status, answer = outer.answer(self.path, form)
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *parts):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def grant(self, user):
        """Return a new access token and refresh token of a user."""
        access, refresh = secrets.token_hex(16), secrets.token_hex(16)
        self.active[access] = self.refreshing[refresh] = user
        return access, refresh

    def answer(self, path, form):
        if path == "/introspect":
            user = self.active.get(form.get("token", ""))
            return 200, {"active": user is not None, "username": user or ""}
        user = self.refreshing.pop(form.get("refresh_token", ""), None)
        if user is None or form.get("client_id") != "gateway":
            return 400, {"error": "invalid_grant"}
        self.renewals += 1
        access, refresh = self.grant(user)
        return 200, {
            "access_token": access,
            "refresh_token": refresh,
            "token_type": "Bearer",
            "expires_in": 3600,
        }

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def token_server():
    server = TokenServer()
    try:
        yield server
    finally:
        server.close()
