"""R5, R6 and whole requests: one email, a page by 1 and by 51 upstream calls, POST /graphql."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from unittest.mock import patch

import httpx
import msgspec
import orjson

from agent_tools.choice import choose
from agent_tools.table import TOOLS
from benchmarks import asgi, edges, whole
from benchmarks.baselines import fastapi_app, stock_client, strawberry_router
from benchmarks.baselines.fastapi_app import EXPAND_B, SELECT_B
from benchmarks.baselines.sqlmodel_store import Models
from benchmarks.baselines.stores import Known
from benchmarks.bodies import LIST
from benchmarks.corpus import BODY, PAGE, Corpus, id_b
from benchmarks.inside import MAIL_MASK, Inside
from benchmarks.memory import FromMemory
from benchmarks.rounds import Run
from benchmarks.table import Promise, Table
from gateway.documents import prepared
from gateway.http import graphql_endpoint
from gateway.http.calls import Calls
from graph.context import Context
from providers.connectors.provider_a.batch import ROOT, Params
from providers.connectors.provider_a.gmail.response_types import Message
from providers.http.client import Upstream
from providers.http.origins import Origins
from rest_compat.calls import Call
from rest_compat.documents import document
from rest_compat.request import RestRequest
from rest_compat.responses import send_response

A_PAGE = f"/api/access/email/messages?limit={PAGE}"
AN_EMAIL = f"/api/access/email/messages/providerB:{id_b(7)}"
A_MESSAGE = f"/v1.0/me/messages/{id_b(7)}?$select={SELECT_B},body&$expand={EXPAND_B}"
FASTAPI = "FastAPI + pydantic + httpx"
SAVED_EMAIL = f"/api/saved/mail/providerB:{id_b(7)}"
TEXT = "POST /graphql of the text"
TOOL_TEXT = "POST /graphql of its document"
IN_A_BURST = 50
STRAWBERRY = "Strawberry's router with its caches"


@asynccontextmanager
async def tables(base: str) -> AsyncIterator[Sequence[Table]]:
    """Yield the tables, prepared against the upstream server at *base*."""
    async with AsyncExitStack() as stack:
        yield (
            await _one_email(stack, base),
            await _one_email_from_memory(stack),
            await _one_email_alone(stack),
            await _saved_document(stack),
            await _tool(stack),
            await _one_call(stack, base),
            await _many_calls(stack, base),
            _graphql(await Inside().records(PAGE)),
            graphql_of_many_objects(),
            await _client(stack, base),
        )


async def _one_email(stack: AsyncExitStack, base: str) -> Table:
    """Compare all work for one email, each side with its own HTTP client."""
    us = await stack.enter_async_context(whole.ours(base, providers=["PROVIDER_B"]))
    logging = await stack.enter_async_context(
        whole.ours(base, providers=["PROVIDER_B"], decision_days=90)
    )
    client = await stack.enter_async_context(stock_client.tuned())
    them = whole.theirs_with_database(us, base, client, provider="b")
    models = whole.theirs_with_database(us, base, client, provider="b", kind=Models)
    return Table(
        "One email, the whole ASGI request with its upstream call",
        {
            FASTAPI: asgi.call(them, "GET", AN_EMAIL, us.tokens["plain"]),
            f"{FASTAPI}, masked": asgi.call(them, "GET", AN_EMAIL, us.tokens["masked"]),
            f"{FASTAPI}, by SQLModel": asgi.call(models, "GET", AN_EMAIL, us.tokens["plain"]),
            "ours": asgi.call(us.gateway, "GET", AN_EMAIL, us.tokens["plain"]),
            "ours, masked": asgi.call(us.gateway, "GET", AN_EMAIL, us.tokens["masked"]),
            "ours, with the decision log": asgi.call(
                logging.gateway, "GET", AN_EMAIL, logging.tokens["plain"]
            ),
        },
        [
            Promise("R5", "ours", FASTAPI, 0.60),
            Promise("R5 masked", "ours, masked", f"{FASTAPI}, masked", 0.60),
        ],
    )


async def _one_email_from_memory(stack: AsyncExitStack) -> Table:
    """Compare with responses from memory, below httpx: its client layer counts, no socket."""
    nowhere, memory = "http://upstream.invalid", FromMemory(Corpus())
    us = await stack.enter_async_context(
        whole.ours(nowhere, providers=["PROVIDER_B"], transport=memory)
    )
    client = await stack.enter_async_context(stock_client.tuned(memory))
    them = whole.theirs_with_database(us, nowhere, client, provider="b")
    return Table(
        "One email, the whole ASGI request, upstream's answer from memory",
        {
            FASTAPI: asgi.call(them, "GET", AN_EMAIL, us.tokens["plain"]),
            f"{FASTAPI}, masked": asgi.call(them, "GET", AN_EMAIL, us.tokens["masked"]),
            "ours": asgi.call(us.gateway, "GET", AN_EMAIL, us.tokens["plain"]),
            "ours, masked": asgi.call(us.gateway, "GET", AN_EMAIL, us.tokens["masked"]),
        },
        layered="ours",
    )


async def _one_email_alone(stack: AsyncExitStack) -> Table:
    """Compare the frameworks: records in memory, the token in a dict, no rate limits."""
    us = await stack.enter_async_context(
        whole.ours(
            "http://upstream.invalid",
            providers=["PROVIDER_B"],
            transport=FromMemory(Corpus()),
            rate_limits="off",
        )
    )
    them = fastapi_app.build(
        None,
        Known({us.tokens[name]: token for name, token in whole.TOKENS.items()}),
        windows=(),
        known=orjson.loads(Corpus().reply(A_MESSAGE).body),
    )
    for token in us.tokens.values():
        await asgi.call(us.gateway, "GET", AN_EMAIL, token)()
    await us.gateway.services.last_uses.write()  # otherwise each later use would count as the first
    email = (await Inside().records(PAGE)).emails[7]
    whole.remove_reads(us, msgspec.structs.replace(email, body=BODY, body_type="html"))
    return Table(
        "One email, its record and token in memory, no limits and no upstream",
        {
            "FastAPI + pydantic": asgi.call(them, "GET", AN_EMAIL, us.tokens["plain"]),
            "FastAPI + pydantic, masked": asgi.call(them, "GET", AN_EMAIL, us.tokens["masked"]),
            "ours": asgi.call(us.gateway, "GET", AN_EMAIL, us.tokens["plain"]),
            "ours, masked": asgi.call(us.gateway, "GET", AN_EMAIL, us.tokens["masked"]),
        },
    )


async def _saved_document(stack: AsyncExitStack) -> Table:
    """Compare the doors of one text: a path of its own, and POST /graphql."""
    us = await stack.enter_async_context(
        whole.ours(
            "http://upstream.invalid", providers=["PROVIDER_B"], transport=FromMemory(Corpus())
        )
    )
    text, token = document("email/get_email"), us.tokens["plain"]
    digest = await whole.save_document(us, "email", text, path="/api/saved/mail/{emailId}")
    variables = {"emailId": f"providerB:{id_b(7)}"}

    def post(members: Mapping[str, Any]) -> Run:
        body = orjson.dumps({**members, "variables": variables})
        return asgi.call(us.gateway, "POST", "/graphql", token, body)

    return Table(
        "A saved document that reads one email, upstream's answer from memory",
        {
            TEXT: post({"query": text}),
            "its path": asgi.call(us.gateway, "GET", SAVED_EMAIL, token),
            "POST /graphql by documentId": post({"documentId": digest}),
            "the documented call": asgi.call(us.gateway, "GET", AN_EMAIL, token),
        },
    )


async def _tool(stack: AsyncExitStack) -> Table:
    """Compare a tool of agents with POST /graphql of its document."""
    us = await stack.enter_async_context(
        whole.ours(
            "http://upstream.invalid", providers=["PROVIDER_B"], transport=FromMemory(Corpus())
        )
    )
    token, email_id = us.tokens["plain"], f"providerB:{id_b(7)}"
    schema = prepared.graph().schema
    row = next(tool for tool in TOOLS if tool.name == "read_mail")
    chosen = choose(row, None, {"id": email_id}, schema=schema, is_masked=lambda _: False)
    variables = {"emailId": email_id, "bodyAs": "text", "quoted": False}
    query = orjson.dumps({"query": chosen.text, "variables": variables})
    params = {"name": row.name, "arguments": {"id": email_id}}
    call = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    return Table(
        "A tool that reads one email, upstream's answer from memory",
        {
            TOOL_TEXT: asgi.call(us.gateway, "POST", "/graphql", token, query),
            "the tool": asgi.call(us.gateway, "POST", "/mcp", token, call),
        },
        [Promise("tool", "the tool", TOOL_TEXT, 1.4)],
    )


async def _one_call(stack: AsyncExitStack, base: str) -> Table:
    us = await stack.enter_async_context(whole.ours(base, providers=["PROVIDER_B"]))
    default = await stack.enter_async_context(stock_client.default())
    them = whole.theirs_with_database(us, base, default, provider="b")
    return Table(
        "A page of 50 mails, the whole request with 1 upstream call",
        {
            FASTAPI: asgi.call(them, "GET", A_PAGE, us.tokens["plain"]),
            f"{FASTAPI}, masked": asgi.call(them, "GET", A_PAGE, us.tokens["masked"]),
            "ours": asgi.call(us.gateway, "GET", A_PAGE, us.tokens["plain"]),
            "ours, masked": asgi.call(us.gateway, "GET", A_PAGE, us.tokens["masked"]),
        },
    )


async def _many_calls(stack: AsyncExitStack, base: str) -> Table:
    us = await stack.enter_async_context(whole.ours(base, providers=["PROVIDER_A"]))
    default = await stack.enter_async_context(stock_client.default())
    tuned = await stack.enter_async_context(stock_client.tuned())
    stock = whole.theirs_with_database(us, base, default, provider="a")
    few = whole.theirs_with_database(us, base, tuned, provider="a")
    call = asgi.call(us.gateway, "GET", A_PAGE, us.tokens["plain"])
    return Table(
        "A page of 50 mails, the whole request with 51 upstream calls",
        {
            FASTAPI: asgi.call(stock, "GET", A_PAGE, us.tokens["plain"]),
            f"{FASTAPI}, masked": asgi.call(stock, "GET", A_PAGE, us.tokens["masked"]),
            f"{FASTAPI}, 10 connections": asgi.call(few, "GET", A_PAGE, us.tokens["plain"]),
            "ours, by upstream's batches": call,
            "ours, masked": asgi.call(us.gateway, "GET", A_PAGE, us.tokens["masked"]),
            "ours, 51 single calls": singly(call),
        },
        [
            Promise("51 calls", "ours, by upstream's batches", FASTAPI, 0.05),
            Promise("51 calls masked", "ours, masked", f"{FASTAPI}, masked", 0.05),
        ],
    )


def singly(run: Run) -> Run:
    """Return *run* with every message fetched by a separate call."""

    async def each() -> object:
        with patch("providers.connectors.provider_a.gmail.reading.batch.messages", _one_by_one):
            return await run()

    return each


async def _one_by_one(
    upstream: Upstream, message_ids: Sequence[str], params: Params
) -> dict[str, Message]:
    answers = await asyncio.gather(
        *(
            upstream.call("GET", *ROOT, "messages", message_id, params=params)
            for message_id in message_ids
        )
    )
    return {
        message_id: answer.decode(Message)
        for message_id, answer in zip(message_ids, answers, strict=True)
    }


# -- POST /graphql


def _graphql(page: Any) -> Table:
    plain, masked = Inside(), Inside(hidden=MAIL_MASK)
    body = orjson.dumps({"query": document(LIST), "variables": {"limit": PAGE}})

    def post(app: asgi.App) -> Run:
        return asgi.call(app, "POST", "/graphql", "any", body)

    def ours(inside: Inside) -> Run:
        return post(our_graphql(inside, lambda: inside.context(page=page)))

    def theirs(inside: Inside) -> Run:
        kind = strawberry_router.RouterContext
        return post(strawberry_router.build(lambda: inside.context(page=page, kind=kind)))

    return Table(
        "POST /graphql of the same page, from records in memory",
        {
            STRAWBERRY: theirs(plain),
            f"{STRAWBERRY}, masked": theirs(masked),
            "ours": ours(plain),
            "ours, masked": ours(masked),
        },
        [
            Promise("graphql", "ours", STRAWBERRY, 0.10),
            Promise("graphql masked", "ours, masked", f"{STRAWBERRY}, masked", 0.10),
        ],
    )


def graphql_of_many_objects() -> Table:
    """Compare one document of two lists, of 10,000 objects together."""
    inside = Inside()
    case, kind = edges.events(inside, edges.AGENDAS), strawberry_router.RouterContext
    body = orjson.dumps({"query": case.text, "variables": case.variables})
    theirs = strawberry_router.build(lambda: case.context(inside, kind))
    ours = our_graphql(inside, lambda: case.context(inside))
    return Table(
        f"POST /graphql of {edges.OBJECTS:,} objects in two lists, from records in memory",
        {
            STRAWBERRY: asgi.call(theirs, "POST", "/graphql", "any", body),
            "ours": asgi.call(ours, "POST", "/graphql", "any", body),
        },
        [Promise("graphql objects", "ours", STRAWBERRY, 0.04)],
    )


def our_graphql(inside: Inside, context: Callable[[], Context]) -> asgi.App:
    """Return the gateway's endpoint; *context* returns the context of a request."""

    class InMemory(Calls):
        async def admit(self, call: Call) -> Context:
            await call.measure(inside.caller)
            return context()

        def record(self, *_: Any) -> None:
            """No decision log."""

    nothing: Any = None  # neither tokens nor a ledger
    calls = InMemory(nothing, nothing)
    answer = graphql_endpoint.endpoint(calls, inside.graph, None, {})

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send_response(await answer(RestRequest(scope, receive)), send, head=False)

    return app


# -- the client


async def _client(stack: AsyncExitStack, base: str) -> Table:
    origins = Origins()
    stack.push_async_callback(origins.aclose)
    tuned = await stack.enter_async_context(stock_client.tuned())
    default = await stack.enter_async_context(stock_client.default())
    upstream = Upstream(origins, base, connection=1)
    transport = origins.transport
    path = f"{'/'.join(ROOT)}/messages/18c000000007"

    async def calls() -> None:
        await asyncio.gather(
            *(upstream.call("GET", *ROOT, "messages", "18c000000007") for _ in range(IN_A_BURST))
        )

    return Table(
        f"{IN_A_BURST} upstream GETs at once, 2 kB each",
        {
            "httpx, 10 connections": _burst(tuned, f"{base}/{path}"),
            "httpx, as installed": _burst(default, f"{base}/{path}"),
            "ours: token, breaker, deadline, limits": calls,
            "ours: the transport alone": _burst_of(transport, f"{base}/{path}"),
        },
        [Promise("R6", "ours: token, breaker, deadline, limits", "httpx, 10 connections", 0.25)],
    )


def _burst(client: httpx.AsyncClient, url: str) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        answers = await asyncio.gather(*(client.get(url) for _ in range(IN_A_BURST)))
        assert all(answer.status_code == 200 for answer in answers)

    return run


def _burst_of(transport: httpx.AsyncBaseTransport, url: str) -> Callable[[], Awaitable[None]]:
    async def get() -> None:
        answer = await transport.handle_async_request(httpx.Request("GET", url))
        await answer.aread()
        assert answer.status_code == 200

    async def run() -> None:
        await asyncio.gather(*(get() for _ in range(IN_A_BURST)))

    return run
