"""Two processes over PostgreSQL and Redis: one count, and slow clients delay no request."""

import asyncio
import time
from collections import Counter

import httpx
import pytest
from database_servers import postgres_server, redis_server
from gateway_processes import MESSAGES, serving
from paths import REPOSITORY

pytestmark = pytest.mark.slow

NOBODY = {"Authorization": "Bearer nobody"}
SOCKETS = 60


async def ask(ports, times):
    """Ask *times* on every port at once; return how often each status was answered."""
    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(headers=NOBODY, limits=limits, timeout=60) as client:
        for port in ports:
            await client.get(f"http://127.0.0.1:{port}/healthz")  # it answers by now
        calls = [client.get(f"http://127.0.0.1:{port}{MESSAGES}") for port in ports * times]
        answers = await asyncio.gather(*calls)
    return Counter(answer.status_code for answer in answers)


async def test_two_processes_on_two_ports_count_as_one(tmp_path):
    with postgres_server() as postgres, redis_server(tmp_path) as redis:
        shared = {"AGW_DATABASE_URL": postgres.url, "AGW_REDIS_URL": redis.url}
        shared["AGW_PROCESSES"] = "2"
        with serving(tmp_path, **shared) as first, serving(tmp_path, **shared) as second:
            assert await ask([first.port, second.port], 100) == {401: 60, 429: 140}


async def test_two_workers_on_one_port_count_as_one(tmp_path):
    with redis_server(tmp_path) as redis:
        shared = {"AGW_REDIS_URL": redis.url}
        with serving(tmp_path, "--workers", "2", **shared) as gateway:
            assert await ask([gateway.port], 200) == {401: 60, 429: 140}


async def test_two_deployments_on_one_redis_count_apart(tmp_path):
    """Each has a database of its own."""
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    with redis_server(tmp_path) as redis:
        shared = {"AGW_REDIS_URL": redis.url}
        with serving(folders[0], **shared) as first, serving(folders[1], **shared) as second:
            assert await ask([first.port], 70) == {401: 60, 429: 10}
            assert await ask([second.port], 60) == {401: 60}


async def test_silent_and_slow_sockets_do_not_stop_honest_requests(tmp_path):
    """A server with room for 50 connections, and 120 that never finish a request."""
    few = {"AGW_MAX_CONNECTIONS": "50", "AGW_RATE_LIMITS": "off"}
    with serving(tmp_path, **few) as gateway:
        port, writers = gateway.port, []
        try:
            for turn in range(2 * SOCKETS):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                slow = f"POST {MESSAGES}/send HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{{"
                writer.write([b"", b"GET / HT", slow.encode()][turn % 3 if turn < 60 else turn % 2])
                writers.append(writer)
            assert await ask([port], 20) == {401: 20}
            until = time.monotonic() + 6
            while time.monotonic() < until:
                assert await ask([port], 2) == {401: 2}
                await asyncio.sleep(0.5)
        finally:
            for writer in writers:
                writer.close()


def test_the_compose_file_and_the_image_start_existing_commands():
    root = REPOSITORY
    assert '"serve", "--workers", "2"' in (root / "compose.yaml").read_text()
    assert 'ENTRYPOINT ["access-gateway"]' in (root / "Dockerfile").read_text()
