"""
What is around every wire: the credential check, the call log and the faults; and the paths to
read and set the last two (loopback only, no credential). Source: decisions 14 and 16.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sandbox import faults
from sandbox.asgi import Answer, Handler, Request, as_json
from sandbox.error_bodies import SHAPES
from sandbox.faults import Fault
from sandbox.oauth.tokens import UPSTREAMS, upstream_name
from sandbox.state import Ground

MOST_CALLS = 20_000  # the newest are kept

# Never a credential: what is not here is not shown.
_SHOWN_HEADERS = (
    "accept",
    "accept-encoding",
    "api-version",
    "client-request-id",
    "consistencylevel",
    "content-length",
    "content-range",
    "content-type",
    "if-match",
    "if-none-match",
    "prefer",
    "range",
    "user-agent",
    "x-upload-content-type",
)
_SECRET_PARAMETERS = frozenset({"access_token", "code", "state", "tempauth", "token"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """
    A wire in its place.

    Attributes:
        prefix: The first segments of the paths it is asked for, below the upstream's mount.
        is_open: Whether it is called without an access token (pre-authenticated addresses).
    """

    prefix: tuple[str, ...]
    handler: Handler
    is_open: bool = False


@dataclass(slots=True, kw_only=True)
class Upstream:
    """
    One upstream: its wires, and what is set and seen on it.

    Attributes:
        spoken: Fault kinds of its own, that it words in an answer of its wire.
    """

    name: str
    ground: Ground
    mounts: list[Mount] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    calls: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MOST_CALLS))
    spoken: Mapping[str, Callable[..., Answer]] = field(default_factory=dict)

    async def call(self, request: Request, target: str | None = None) -> Answer:
        """
        Answer a call, or an inner call of a batch. *target* is its path and query as sent.

        Raises:
            ConnectionCut, Unanswered: No answer is to come.
        """
        fault = self._fault(request, target) if self.faults else None
        self.calls.append(_logged(request, fault, shows_document=self.name == "tasks"))
        if fault is None:
            return await self._run(request)
        if fault.kind in self.spoken:
            speak = self.spoken[fault.kind]
            return speak(request, reason=fault.reason, retry_after=fault.retry_after)
        return await faults.spoil(fault, request, lambda: self._run(request), SHAPES[self.name])

    async def _run(self, request: Request) -> Answer:
        shape = SHAPES[self.name]
        request = replace(request, grant=self._grant(request) or request.grant, inner=self.call)
        for mount in self.mounts:
            if request.segments[: len(mount.prefix)] != mount.prefix:
                continue
            if request.grant is None and not mount.is_open:
                return shape(401)
            answer = await mount.handler(request)
            if answer is not None:
                return answer
        return shape(401) if request.grant is None and self.name != "oauth" else shape(404)

    def _grant(self, request: Request) -> Any:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        # The task provider takes its token bare.
        bare = scheme if self.name == "tasks" and not token else ""
        given = token.strip() if scheme.lower() == "bearer" else bare
        return self.ground.tokens.read(self.name, given) if given else None

    def _fault(self, request: Request, target: str | None) -> Fault | None:
        sent = target or request.link().removeprefix(request.public)
        # Every call of the task provider has the same path: its document tells them apart.
        also = request.body.decode("utf-8", "replace") if self.name == "tasks" else ""
        for fault in self.faults:
            if fault.hits(request, sent, also):
                if fault.count is not None:
                    fault.count -= 1
                    if fault.count == 0:
                        self.faults.remove(fault)
                return fault
        return None


class Control:
    """The control paths over all upstreams."""

    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        self._upstreams = upstreams

    def answer(self, request: Request) -> Answer:
        """Answer ``/faults/{upstream}`` and ``/calls/{upstream}``."""
        kind, *rest = request.segments
        name = upstream_name(rest[0]) if len(rest) == 1 else None
        if name is None:
            return _refusal(404, f"Upstreams are {', '.join(UPSTREAMS)}.")
        upstream = self._upstreams[name]
        if kind == "calls":
            return _calls(upstream, request.method)
        return _faults(upstream, request)


def _calls(upstream: Upstream, method: str) -> Answer:
    if method == "GET":
        return as_json({"calls": list(upstream.calls)})
    if method == "DELETE":
        upstream.calls.clear()
        return Answer(status=204)
    return _refusal(405, "Use GET or DELETE.")


def _faults(upstream: Upstream, request: Request) -> Answer:
    if request.method == "DELETE":
        upstream.faults.clear()
        return Answer(status=204)
    if request.method == "PUT":
        try:
            wanted = request.json()
            several: Sequence[Any] = wanted if isinstance(wanted, list) else [wanted]
            upstream.faults[:] = [faults.read(one, also=upstream.spoken) for one in several]
        except ValueError as problem:
            return _refusal(400, str(problem))
    elif request.method != "GET":
        return _refusal(405, "Use GET, PUT or DELETE.")
    return as_json({"faults": [fault.describe() for fault in upstream.faults]})


def _refusal(status: int, message: str) -> Answer:
    return as_json({"error": message}, status)


def _logged(request: Request, fault: Fault | None, *, shows_document: bool) -> dict[str, Any]:
    query: dict[str, list[str]] = {}
    for name, value in request.query:
        shown = "…" if name.lower() in _SECRET_PARAMETERS else value
        query.setdefault(name, []).append(shown)
    call = {
        "method": request.method,
        "path": request.path,
        "query": query,
        "headers": {
            name: request.headers[name] for name in _SHOWN_HEADERS if name in request.headers
        },
        "bodySize": _size(request),
        "batch": request.batch,
        "fault": None if fault is None else fault.kind,
        "at": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    return {**call, "document": _document(request)} if shows_document else call


def _size(request: Request) -> int:
    """Return the size of the body in bytes; of a streamed one, what its header says."""
    stated = request.headers.get("content-length", "")
    return int(stated) if request.stream is not None and stated.isdigit() else len(request.body)


def _document(request: Request) -> str | None:
    """Return the GraphQL document of a call, without its variables."""
    try:
        content = request.json()
    except ValueError:
        return None
    document = content.get("query") if isinstance(content, dict) else None
    return document if isinstance(document, str) else None
