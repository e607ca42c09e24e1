"""
Uploads in constant memory: small files in one call, others slice by slice.

Nothing is started upstream before the bytes of the first slice have arrived, and a session is
cancelled on any failure, so that nothing is left. The protocol is
docs/spec/upstream/microsoft-files.md#upload.
"""

import asyncio
import errno
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

from providers import failures
from providers.collab_ids import ItemKey
from providers.connectors.collab import mapping, response_types
from providers.connectors.collab.connection_context import V1, ConnectionContext
from providers.connectors.collab.files.reading import by_name
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.files.upload_sessions import UploadSession
from providers.connectors.collab.files.writing import CONFLICT
from providers.http.client import deadline
from providers.http.response import Response
from providers.outcomes import may_have_happened
from providers.ports.collab import MAX_UPLOAD, Upload, UploadTooLarge, UploadTruncated
from providers.records import collab as records
from providers.write_previews import current_preview

SLICE = 10 * 320 * 1024  # bytes; upstream wants a multiple of 320 KiB
SMALL = 4 * 1024 * 1024  # bytes of the largest file that is sent in one call
_RETURNED_ATTRIBUTES = frozenset({"name", "size", "etag", "site", "list_id", "list_item_id"})
_LOOKUP_MEMBERS = "id,name,size,eTag,file,parentReference,sharepointIds"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
T = TypeVar("T")


class FileUploader:
    """Stores files."""

    def __init__(self, context: ConnectionContext, sites: SiteReader) -> None:
        self._context = context
        self._sites = sites

    async def upload(self, parent: ItemKey, upload: Upload) -> records.File:
        """
        Store a file in constant memory.

        Raises:
            Conflicted: The name is taken, and *conflict* is "fail".
            OutOfSpace: The library is full.
            NoRoom: This machine's disk is full, and the upload is of unknown size.
            UploadTooLarge: More bytes came than are allowed; nothing is left.
            ReadOnlyGrant: The connection may only read there.
            OutcomeUnknown: It may or may not be stored.
        """
        await self._sites.admit_drive(parent.drive)
        if upload.size is not None and upload.size > MAX_UPLOAD:
            raise UploadTooLarge
        source = _Source(upload)
        with self._context.translate_refused_writes():
            if await source.fill(SMALL + 1) <= SMALL:
                body = await source.take(SMALL)
                await source.check_end(len(body))
                file = await self._upload_small(parent, upload, body)
            elif upload.size is not None and current_preview() is None:
                file = await self._upload_large(parent, upload, source, upload.size)
            else:
                # The protocol needs the size first, and a preview the bytes: all of them are
                # received before any is sent.
                with _temporary_file() as spool:
                    size = await _spool(spool, source)
                    await source.check_end(size)
                    spool.seek(0)
                    file = await self._upload_large(parent, upload, _SpooledSource(spool), size)
        if upload.description:
            await self._describe(file, upload.description)
        return file

    # -- in one call

    async def _upload_small(self, parent: ItemKey, upload: Upload, body: bytes) -> records.File:
        try:
            response = await self._context.upstream.call(
                "PUT",
                V1,
                *by_name(parent, upload.name),
                "content",
                params=((CONFLICT, upload.conflict),),
                content=body,
                headers={"content-type": upload.mime_type},
            )
            return self._stored_file(response, parent)
        except failures.ProviderFailure as failure:
            if not may_have_happened(failure):
                raise
            # With another conflict mode a file of this name may be an older one.
            if upload.conflict == "fail" and await self._is_absent(parent, upload.name):
                raise failures.Unreachable(sent=False) from failure
            raise failures.OutcomeUnknown from failure

    # -- in slices

    async def _upload_large(
        self, parent: ItemKey, upload: Upload, source: "_Source | _SpooledSource", size: int
    ) -> records.File:
        if upload.conflict == "fail" and await self._find(parent, upload.name):
            raise failures.Conflicted(status=409, word="nameAlreadyExists")
        session = await self._start_session(parent, upload)
        start = 0
        try:
            while True:
                piece = await _take_slice(source, min(SLICE, size - start))
                if start + len(piece) == size:  # the last slice creates the file
                    await source.check_end(size)
                response = await session.put(piece, start, size)
                start += len(piece)
                if start == size:
                    break
            if response is not None and response.status != 202:
                return self._stored_file(response, parent)
        except (failures.Unreachable, failures.TimedOut, failures.Broken) as failure:
            await _shielded(session.cancel())
            not_sent = not isinstance(failure, failures.Broken) and not failure.sent
            if not_sent or start + SLICE < size:  # upstream never got the last slice
                raise
            return await _shielded(self._look_up(parent, upload, size, failure))
        except BaseException:
            await _shielded(session.cancel())
            raise
        await _shielded(session.cancel())
        raise failures.Broken  # upstream says that bytes are missing

    async def _start_session(self, parent: ItemKey, upload: Upload) -> UploadSession:
        item = {CONFLICT: upload.conflict, "name": upload.name}
        response = await self._context.upstream.call(
            "POST", V1, *by_name(parent, upload.name), "createUploadSession", json={"item": item}
        )
        url = response.decode(response_types.UploadSession).upload_url
        if not url:
            raise failures.Broken
        return UploadSession(self._context, url)

    # -- outcome

    def _stored_file(self, response: Response, parent: ItemKey) -> records.File:
        file = mapping.file(
            response.decode(response_types.Item), _RETURNED_ATTRIBUTES, within=parent.drive
        )
        if file is None:
            raise failures.Broken
        return file

    async def _find(self, parent: ItemKey, name: str) -> response_types.Item | None:
        try:
            response = await self._context.upstream.call(
                "GET", V1, *by_name(parent, name), params=(("$select", _LOOKUP_MEMBERS),)
            )
        except failures.Missing:
            return None
        return response.decode(response_types.Item)

    async def _is_absent(self, parent: ItemKey, name: str) -> bool:
        try:
            return await self._find(parent, name) is None
        except failures.ProviderFailure:
            return False

    async def _look_up(
        self, parent: ItemKey, upload: Upload, size: int, failure: failures.ProviderFailure
    ) -> records.File:
        """
        Look for a file that may be stored although the response was lost.

        Raises:
            OutcomeUnknown: It may or may not be stored.
            Unreachable: It surely is not stored.
        """
        if upload.conflict == "fail":  # then no file had this name before
            with suppress(failures.ProviderFailure):
                item = await self._find(parent, upload.name)
                if item is None:
                    failure = failures.Unreachable(sent=False)
                    raise failure
                file = mapping.file(item, _RETURNED_ATTRIBUTES, within=parent.drive)
                if file is not None and file.size == size:
                    return file
        if isinstance(failure, failures.Unreachable) and not failure.sent:
            raise failure
        raise failures.OutcomeUnknown from failure

    async def _describe(self, file: records.File, description: str) -> None:
        """Set a description; some libraries do not keep any."""
        with suppress(failures.ProviderFailure):
            await self._context.upstream.call(
                "PATCH",
                V1,
                "drives",
                file.drive,
                "items",
                file.item,
                json={"description": description},
            )


async def _take_slice(source: "_Source | _SpooledSource", size: int) -> bytes:
    piece = await source.take(size)
    if len(piece) < size:
        raise UploadTruncated
    return piece


class _Source:
    """The bytes of an upload, cut into slices; never more than may be stored."""

    def __init__(self, upload: Upload) -> None:
        self._chunks = upload.chunks
        self._size = upload.size
        self._buffer = bytearray()
        self._received = 0
        self._ended = False

    async def fill(self, size: int) -> int:
        """
        Buffer the next *size* bytes; return how many there are, fewer only at the end.

        Raises:
            UploadTooLarge: More bytes came than allowed.
        """
        while len(self._buffer) < size and not self._ended:
            try:
                chunk = await anext(self._chunks)
            except StopAsyncIteration:
                self._ended = True
                break
            self._received += len(chunk)
            if self._received > MAX_UPLOAD:
                raise UploadTooLarge
            self._buffer += chunk
        return min(size, len(self._buffer))

    async def take(self, size: int) -> bytes:
        """Return the next *size* bytes, fewer only at the end; raises as `fill`."""
        await self.fill(size)
        with memoryview(self._buffer) as view:
            piece = bytes(view[:size])
        del self._buffer[:size]
        return piece

    async def check_end(self, size: int) -> None:
        """
        Check that as many bytes came as were announced.

        Raises:
            UploadTruncated: Fewer or more came.
        """
        announced = size if self._size is None else self._size
        if await self.fill(1) or announced != size or self._received != size:
            raise UploadTruncated


@dataclass(slots=True)
class _SpooledSource:
    """The bytes of an upload, counted and written to a file."""

    spool: IO[bytes]

    async def take(self, size: int) -> bytes:
        return self.spool.read(size)

    async def check_end(self, size: int) -> None:
        """Do nothing: the bytes were counted."""


@contextmanager
def _temporary_file() -> Iterator[IO[bytes]]:
    """
    Yield an empty file without a name.

    Raises:
        NoRoom: It could not be made or written, because the disk or the quota is full.
    """
    try:
        with TemporaryFile() as spool:
            yield spool
    except OSError as failure:
        if failure.errno in _FULL:
            raise failures.NoRoom from failure
        raise


async def _spool(spool: IO[bytes], source: _Source) -> int:
    size = 0
    while piece := await source.take(SLICE):
        spool.write(piece)
        size += len(piece)
    return size


async def _shielded(work: Coroutine[Any, Any, T]) -> T:
    """Finish *work* even when the caller is cancelled or its deadline has passed."""
    without_deadline = copy_context()
    without_deadline.run(deadline.set, None)
    task = asyncio.create_task(work, context=without_deadline)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(asyncio.CancelledError):
            await task
        raise
