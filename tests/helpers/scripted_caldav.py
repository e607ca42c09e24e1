"""A CalDAV server of calendar objects as tests write them, on a loopback port."""

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape

from ical_texts import zone_definition

_NAMESPACES = (
    'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:S="http://calendarserver.org/ns/"'
)
_ACCOUNT = (
    "<D:current-user-principal><D:href>/p/</D:href></D:current-user-principal>"
    "<C:calendar-home-set><D:href>/u/</D:href></C:calendar-home-set>"
    "<C:calendar-user-address-set><D:href>mailto:owner@example.com</D:href>"
    "</C:calendar-user-address-set>"
)


@dataclass
class ScriptedCalendars:
    """
    The calendars of one account.

    Attributes:
        objects: iCalendar by calendar and object.
        zones: Time zone by calendar.
        calls: Methods of the requests.
    """

    objects: dict[str, dict[str, str]] = field(default_factory=dict)
    zones: dict[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def put(self, calendar, *texts, zone=None):
        """Make a calendar of these objects alone."""
        self.objects[calendar] = {f"{number}.ics": text for number, text in enumerate(texts)}
        if zone:
            self.zones[calendar] = zone


@contextmanager
def scripted_caldav():
    """Run a server; yield its calendars, which may change while it runs."""
    calendars = ScriptedCalendars()
    handler = type("Handler", (_Handler,), {"calendars": calendars})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    calendars.port = server.server_port
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield calendars
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    calendars: ScriptedCalendars

    def log_message(self, *_):
        pass

    def do_PROPFIND(self):
        self._read()
        path = unquote(self.path).strip("/")
        if path in ("", ".well-known/caldav", "p"):
            self._multistatus(_resource("/p/", _ACCOUNT))
        elif path == "u":
            self._multistatus("".join(map(self._calendar, sorted(self.calendars.objects))))
        elif (name := path.removeprefix("u/")) in self.calendars.objects:
            self._multistatus(self._calendar(name))
        else:
            self._send(404, "")

    def do_REPORT(self):
        body, path = self._read(), unquote(self.path)
        objects = self.calendars.objects[path.strip("/").removeprefix("u/")]
        is_multiget = "calendar-multiget" in body
        asked = re.findall(r"<D:href>(.*?)</D:href>", body)
        names = [unquote(href).rpartition("/")[2] for href in asked] if is_multiget else objects
        responses = []
        for name in names:
            if name in objects:
                properties = f'<D:getetag>"{_tag(objects[name])}"</D:getetag>'
                if is_multiget:
                    text = escape(objects[name], {"\r": "&#13;"})
                    properties += f"<C:calendar-data>{text}</C:calendar-data>"
                responses.append(_resource(f"{quote(path)}{quote(name)}", properties))
        self._multistatus("".join(responses))

    def do_GET(self):
        _, _, calendar, name = unquote(self.path).split("/")
        text = self.calendars.objects.get(calendar, {}).get(name)
        self._read()
        self._send(200 if text is not None else 404, text or "", kind="text/calendar")

    def _calendar(self, name):
        version = _tag("".join(self.calendars.objects[name].values()) + name)
        zone = self.calendars.zones.get(name)
        definition = escape(zone_definition(zone)) if zone else ""
        return _resource(
            f"/u/{quote(name)}/",
            "<D:resourcetype><D:collection/><C:calendar/></D:resourcetype>"
            f"<D:displayname>{escape(name)}</D:displayname><S:getctag>{version}</S:getctag>"
            f"<C:calendar-timezone>{definition}</C:calendar-timezone>",
        )

    def _read(self):
        self.calendars.calls.append(self.command)
        return self.rfile.read(int(self.headers.get("content-length") or 0)).decode()

    def _multistatus(self, responses):
        self._send(207, f"<D:multistatus {_NAMESPACES}>{responses}</D:multistatus>")

    def _send(self, status, text, *, kind="application/xml"):
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", f"{kind}; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _resource(href, properties):
    propstat = f"<D:prop>{properties}</D:prop><D:status>HTTP/1.1 200 OK</D:status>"
    named = f"<D:href>{escape(href)}</D:href>"
    return f"<D:response>{named}<D:propstat>{propstat}</D:propstat></D:response>"


def _tag(text):
    return sha256(text.encode()).hexdigest()[:12]
