"""
Storing files with flat memory: small ones at once, others slice by slice.

Nothing is begun upstream before the bytes of the first slice are there, and whatever goes wrong,
a session that was begun is cancelled: then nothing is left. Source: wire report 1D.4;
reliability C4.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

from providers.connectors.collab import mapping, response_types
from providers.connectors.collab.connection_context import V1, ConnectionContext
from providers.connectors.collab.files.reading import by_name
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.files.writing import CONFLICT
from providers.content.ids import ItemKey
from providers.failures import (
    Broken,
    Conflicted,
    Missing,
    NeedsReauth,
    OutcomeUnknown,
    ProviderFailure,
    TimedOut,
    Unreachable,
)
from providers.http.client import deadline
from providers.http.response import Response
from providers.outcomes import may_have_happened
from providers.ports.collab import MAX_UPLOAD, Upload, UploadTooLarge, UploadTruncated
from providers.records import collab as records

SLICE = 10 * 320 * 1024  # bytes; a multiple of 320 KiB, wire report 1D.4
SMALL = 4 * 1024 * 1024  # bytes that go in one call
_BRIEF = frozenset({"name", "size", "etag", "site", "list_id", "list_item_id"})
_LOOKED_UP = "id,name,size,eTag,file,parentReference,sharepointIds"
_SLICE_SECONDS = 120.0  # for one slice
T = TypeVar("T")


class FileUploader:
    """Stores files."""

    def __init__(self, context: ConnectionContext, sites: SiteReader) -> None:
        self._context = context
        self._sites = sites

    async def upload(self, parent: ItemKey, upload: Upload) -> records.File:
        """Store a file; see `UploadPort.upload`."""
        await self._sites.admit_drive(parent.drive)
        if upload.size is not None and upload.size > MAX_UPLOAD:
            raise UploadTooLarge
        source = _Source(upload)
        if await source.filled(SMALL + 1) <= SMALL:
            body = await source.take(SMALL)
            await source.check_end(len(body))
            found = await self._small(parent, upload, body)
        elif upload.size is not None:
            found = await self._large(parent, upload, source, upload.size)
        else:
            # The protocol wants the size beforehand: it is counted before anything is sent.
            with TemporaryFile() as spool:
                size = await _spooled(spool, source)
                spool.seek(0)
                found = await self._large(parent, upload, _File(spool), size)
        if upload.description:
            await self._describe(found, upload.description)
        return found

    # -- at once

    async def _small(self, parent: ItemKey, upload: Upload, body: bytes) -> records.File:
        try:
            answer = await self._context.upstream.call(
                "PUT",
                V1,
                *by_name(parent, upload.name),
                "content",
                params=((CONFLICT, upload.conflict),),
                content=body,
                headers={"content-type": upload.mime_type},
            )
            return self._stored(answer, parent)
        except ProviderFailure as failure:
            if not may_have_happened(failure):
                raise
            # Another's file of this name may have been there before: that one is not ours.
            if upload.conflict == "fail" and await self._surely_absent(parent, upload.name):
                raise Unreachable(sent=False) from failure
            raise OutcomeUnknown from failure

    # -- in slices

    async def _large(
        self, parent: ItemKey, upload: Upload, source: "_Source | _File", size: int
    ) -> records.File:
        if upload.conflict == "fail" and await self._there(parent, upload.name):
            raise Conflicted(status=409, word="nameAlreadyExists")
        session = await self._session(parent, upload)
        start = 0
        try:
            while True:
                piece = await _slice(source, min(SLICE, size - start))
                if start + len(piece) == size:  # the last slice makes it a file
                    await source.check_end(size)
                answer = await session.put(piece, start, size)
                start += len(piece)
                if start == size:
                    break
            if answer.status != 202:
                return self._stored(answer, parent)
        except (Unreachable, TimedOut, Broken) as failure:
            await _undisturbed(session.cancel())
            unsent = not isinstance(failure, Broken) and not failure.sent
            if unsent or start + SLICE < size:  # what is missing never arrived
                raise
            return await _undisturbed(self._look_up(parent, upload, size, failure))
        except BaseException:
            await _undisturbed(session.cancel())
            raise
        await _undisturbed(session.cancel())
        raise Broken  # it says that bytes are missing

    async def _session(self, parent: ItemKey, upload: Upload) -> "_Session":
        item = {CONFLICT: upload.conflict, "name": upload.name}
        answer = await self._context.upstream.call(
            "POST",
            V1,
            *by_name(parent, upload.name),
            "createUploadSession",
            json={"item": item},
        )
        url = answer.decode(response_types.UploadSession).upload_url
        if not url:
            raise Broken
        return _Session(self._context, url)

    # -- what came of it

    def _stored(self, answer: Response, parent: ItemKey) -> records.File:
        found = mapping.file(answer.decode(response_types.Item), _BRIEF, within=parent.drive)
        if found is None:
            raise Broken
        return found

    async def _there(self, parent: ItemKey, name: str) -> response_types.Item | None:
        try:
            answer = await self._context.upstream.call(
                "GET", V1, *by_name(parent, name), params=(("$select", _LOOKED_UP),)
            )
        except Missing:
            return None
        return answer.decode(response_types.Item)

    async def _surely_absent(self, parent: ItemKey, name: str) -> bool:
        try:
            return await self._there(parent, name) is None
        except ProviderFailure:
            return False

    async def _look_up(
        self, parent: ItemKey, upload: Upload, size: int, failure: ProviderFailure
    ) -> records.File:
        """
        See whether a file was stored although the answer was lost.

        Raises:
            OutcomeUnknown: That cannot be told.
            Unreachable: It surely was not.
        """
        if upload.conflict == "fail":  # then nothing of this name was there before
            with suppress(ProviderFailure):
                found = await self._there(parent, upload.name)
                if found is None:
                    failure = Unreachable(sent=False)
                    raise failure
                file = mapping.file(found, _BRIEF, within=parent.drive)
                if file is not None and file.size == size:
                    return file
        if isinstance(failure, Unreachable) and not failure.sent:
            raise failure
        raise OutcomeUnknown from failure

    async def _describe(self, file: records.File, description: str) -> None:
        """Describe a file where upstream keeps descriptions; wire report 6, 30."""
        with suppress(ProviderFailure):
            await self._context.upstream.call(
                "PATCH",
                V1,
                "drives",
                file.drive,
                "items",
                file.item,
                json={"description": description},
            )


async def _slice(source: "_Source | _File", size: int) -> bytes:
    piece = await source.take(size)
    if len(piece) < size:
        raise UploadTruncated
    return piece


@dataclass(slots=True)
class _Session:
    """An upload session: its address carries its own authority, so our credentials stay out."""

    context: ConnectionContext
    url: str

    async def put(self, piece: bytes, start: int, size: int) -> Response:
        """Send a slice, and once more what upstream says it lacks of it."""
        try:
            return await self._put(piece, start, size)
        except (Unreachable, TimedOut, Broken):
            expected = await self._expected()
            if expected is None or not start <= expected < start + len(piece):
                raise
            return await self._put(piece[expected - start :], expected, size)

    async def cancel(self) -> None:
        """End it; nothing of it stays."""
        with suppress(ProviderFailure):
            await self._send("DELETE")

    async def _put(self, piece: bytes, start: int, size: int) -> Response:
        headers = {
            "content-range": f"bytes {start}-{start + len(piece) - 1}/{size}",
            "content-type": "application/octet-stream",
        }
        return await self._send("PUT", content=piece, headers=headers)

    async def _expected(self) -> int | None:
        try:
            told = (
                (await self._send("GET")).decode(response_types.UploadSession).next_expected_ranges
            )
        except ProviderFailure:
            return None
        begin = (told or ("",))[0].partition("-")[0]
        return int(begin) if begin.isascii() and begin.isdigit() else None

    async def _send(
        self, method: str, *, content: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Response:
        try:
            async with self.context.upstream.open_stream(
                method,
                self.url,
                content=content,
                headers=headers or {},
                deadline=_SLICE_SECONDS,
                max_bytes=1024 * 1024,
            ) as answer:
                body = b"".join([piece async for piece in answer.chunks])
                return Response(answer.status, answer.headers, body)
        except (NeedsReauth, Missing) as failure:  # of the session, not of the connection
            raise Broken from failure


class _Source:
    """The bytes of an upload, cut anew, and never more than may be stored."""

    def __init__(self, upload: Upload) -> None:
        self._chunks = upload.chunks
        self._size = upload.size
        self._rest = bytearray()
        self._seen = 0
        self._ended = False

    async def filled(self, most: int) -> int:
        """
        Wait for the next *most* bytes; return how many there are, fewer at the end only.

        Raises:
            UploadTooLarge: More came than may.
        """
        while len(self._rest) < most and not self._ended:
            try:
                chunk = await anext(self._chunks)
            except StopAsyncIteration:
                self._ended = True
                break
            self._seen += len(chunk)
            if self._seen > MAX_UPLOAD:
                raise UploadTooLarge
            self._rest += chunk
        return min(most, len(self._rest))

    async def take(self, most: int) -> bytes:
        """Return the next *most* bytes, fewer at the end only; raises as `filled`."""
        await self.filled(most)
        with memoryview(self._rest) as view:
            piece = bytes(view[:most])
        del self._rest[:most]
        return piece

    async def check_end(self, size: int) -> None:
        """
        Hold what came against what was announced.

        Raises:
            UploadCut: It is not as much as was announced, or more.
        """
        announced = size if self._size is None else self._size
        if await self.filled(1) or announced != size or self._seen != size:
            raise UploadTruncated


@dataclass(slots=True)
class _File:
    """The bytes of an upload, counted already."""

    spool: IO[bytes]

    async def take(self, most: int) -> bytes:
        return self.spool.read(most)

    async def check_end(self, size: int) -> None:
        """Nothing: they were counted."""


async def _spooled(spool: IO[bytes], source: _Source) -> int:
    size = 0
    while piece := await source.take(SLICE):
        spool.write(piece)
        size += len(piece)
    return size


async def _undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Finish *work* although the caller is being cancelled, or its time is over."""
    unhurried = copy_context()
    unhurried.run(deadline.set, None)
    task = asyncio.create_task(work, context=unhurried)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(asyncio.CancelledError):
            await task
        raise
