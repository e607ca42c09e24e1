"""An HTTP server, in a thread of its own, whose answers are a test's."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class HostileHttp:
    """
    What the server answers.

    Attributes:
        answer: Function of method, path and body -> status, content type and body.
        requests: Methods and paths, in order.
    """

    def __init__(self):
        self.answer = lambda *_: (404, "text/plain", b"")
        self.requests = []
        self.port = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def _answer(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        script = self.server.script
        script.requests.append((self.command, self.path))
        status, kind, content = script.answer(self.command, self.path, body)
        try:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True  # the client has enough

    do_GET = do_POST = do_PROPFIND = do_REPORT = _answer  # noqa: N815 - the library's names


@contextmanager
def running():
    """Run a server; yield what it answers."""
    script = HostileHttp()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.script = script
    script.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
