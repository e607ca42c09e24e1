"""Requests to POST /graphql without HTTP: the order of checks over an admission of the test."""

from types import SimpleNamespace

from gateway.http.calls import Calls
from gateway.http.graphql_call import GraphQLCall
from rest_compat.request import RestRequest

ANYONE = SimpleNamespace(grant=SimpleNamespace(documents=None))


class Admitted(Calls):
    """Calls that *admit* admits: it is awaited with the costs, and returns the context."""

    def __init__(self, admit, request_id, ledger=None):
        super().__init__(None, ledger)
        self._admit = admit
        self._request_id = request_id

    def request_id(self, scope):
        return self._request_id

    async def admit(self, call):
        return await self._admit((await call.measure(ANYONE)).requests)

    def record(self, call, context, reply, bug):
        """Record nothing."""


async def respond(graph, body, *, admit, request_id, accept=""):
    """Answer *body*, whose header `Accept` is *accept*."""
    request = RestRequest({"headers": [(b"accept", accept.encode())]}, None)
    return await Admitted(admit, request_id).run(GraphQLCall(request, graph, sent=body))
