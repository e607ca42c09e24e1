"""
Files uploaded to be attached to messages: docs/spec/email.md#uploaded-attachments.

The bytes are sealed chunk by chunk as they arrive, and are read chunk by chunk when a message is
sent: neither holds a file in memory. They are in the database, so that any process can send them.
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec
from sqlalchemy import ColumnElement, and_, delete, false, func, insert, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring
from gateway.store.cleanup import delete_in_slices
from gateway.store.clock import StatementClock
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import AccessToken, UploadChunkRow, UploadRow
from gateway.store.timestamps import from_ms
from graph.attachment_uploads import UploadedFile
from policy.refusals import Conflict
from policy.vocabulary import Code
from providers.failures import Missing

LIFETIME_MS = 60 * 60 * 1000
CHUNK_BYTES = 256 * 1024
# Of one token at once; docs/spec/limits.md#sizes.
MAX_FILES = 50
_SWEEP_FILES = 20  # deleted in one transaction, with all their chunks
MAX_BYTES = 262_144_000


class _Description(msgspec.Struct, frozen=True, array_like=True):
    name: str
    media_type: str


class UploadStore:
    """Uploaded files of all tokens. One per process."""

    def __init__(
        self, database: Database, keyring: Keyring, *, clock: StatementClock | None = None
    ) -> None:
        """*clock* is the database's; tests have their own."""
        self._database = database
        self._keyring = keyring
        self._now = clock or database.clock.now

    def of(self, token_id: int) -> "TokenUploads":
        return TokenUploads(self, token_id)

    async def store(
        self, token_id: int, name: str, media_type: str, chunks: AsyncIterator[bytes]
    ) -> UploadedFile:
        upload: int | None = None
        try:
            upload = await self._begin(token_id, name, media_type)
            number = 0
            async for chunk in _cut(chunks):
                await self._append(token_id, upload, number, chunk)
                number += 1
            row = await self._complete(upload)
        except BaseException as failure:
            if upload is not None:
                with suppress(StorageUnavailable):
                    await self._delete(upload)
            if isinstance(failure, StorageUnavailable):
                raise Overloaded from failure
            raise
        return self._file(row)

    async def require_room(self, token_id: int, size: int) -> None:
        """See `graph.attachment_uploads.UploadsOfToken.require_room`."""
        try:
            async with self._database.reading() as session:
                await _require_count(session, token_id, ~self._expired())
                await _require_bytes(session, token_id, size, ~self._expired())
        except StorageUnavailable as failure:
            raise Overloaded from failure

    async def find(self, token_id: int, handle: str) -> UploadedFile | None:
        try:
            row = await self._find(token_id, handle)
        except StorageUnavailable as failure:
            raise Overloaded from failure
        if row is None:
            return None
        try:
            return self._file(row)
        except ValueError:  # its key left the ring
            return None

    async def delete(self, token_id: int, handle: str) -> bool:
        try:
            return await self._delete_by_handle(token_id, handle)
        except StorageUnavailable as failure:
            raise Overloaded from failure

    async def sweep(self) -> int:
        """Delete expired files; return how many."""
        ends = col(UploadRow.expires_at)
        return await delete_in_slices(
            self._database, UploadRow, self._expired(), by=ends, rows=_SWEEP_FILES
        )

    # -- writing

    @retried
    async def _begin(self, token_id: int, name: str, media_type: str) -> int:
        handle = secrets.token_urlsafe(32)
        description = msgspec.msgpack.encode(_Description(name, media_type))
        row = insert(UploadRow).values(
            token_id=token_id,
            handle=handle,
            description=self._keyring.encrypt(description, context=f"uploads:{handle}:description"),
            size=0,
            is_complete=False,
            expires_at=self._now() + LIFETIME_MS,
        )
        async with self._database.writing() as session:
            await session.exec(
                delete(UploadRow).where(col(UploadRow.token_id) == token_id, self._expired())
            )
            # Uploads of one token count one after another.
            await session.exec(
                select(AccessToken.id).where(col(AccessToken.id) == token_id).with_for_update()
            )
            await _require_count(session, token_id)
            upload: int = await session.scalar(row.returning(col(UploadRow.id))) or 0
        return upload

    @retried
    async def _append(self, token_id: int, upload: int, number: int, chunk: bytes) -> None:
        sealed = self._keyring.encrypt(chunk, context=_context(upload, number))
        async with self._database.writing() as session:
            await session.exec(
                select(AccessToken.id).where(col(AccessToken.id) == token_id).with_for_update()
            )
            await _require_bytes(session, token_id, len(chunk))
            await session.exec(
                update(UploadRow)
                .where(col(UploadRow.id) == upload)
                .values(size=col(UploadRow.size) + len(chunk), expires_at=self._now() + LIFETIME_MS)
            )
            await session.exec(
                insert(UploadChunkRow).values(upload_id=upload, number=number, content=sealed)
            )

    @retried
    async def _complete(self, upload: int) -> UploadRow:
        async with self._database.writing() as session:
            await session.exec(
                update(UploadRow)
                .where(col(UploadRow.id) == upload)
                .values(is_complete=True, expires_at=self._now() + LIFETIME_MS)
            )
            rows = await session.exec(select(UploadRow).where(col(UploadRow.id) == upload))
            return rows.one()

    @retried
    async def _delete(self, upload: int) -> None:
        await self._database.execute(delete(UploadRow).where(col(UploadRow.id) == upload))

    @retried
    async def _delete_by_handle(self, token_id: int, handle: str) -> bool:
        async with self._database.writing() as session:
            deleted = await session.exec(delete(UploadRow).where(self._valid(token_id, handle)))
        return deleted.rowcount > 0

    def _expired(self) -> ColumnElement[bool]:
        """Return the condition for rows that may be deleted; none while the clock is distrusted."""
        if not self._database.clock.is_trusted:
            return false()
        return col(UploadRow.expires_at) <= self._now()

    # -- reading

    async def _find(self, token_id: int, handle: str) -> UploadRow | None:
        async with self._database.reading() as session:
            rows = await session.exec(select(UploadRow).where(self._valid(token_id, handle)))
            return rows.first()

    def _valid(self, token_id: int, handle: str) -> ColumnElement[bool]:
        """Return the condition for the row of a handle that its token may use now."""
        return and_(
            col(UploadRow.handle) == handle,
            col(UploadRow.token_id) == token_id,
            col(UploadRow.is_complete),
            col(UploadRow.expires_at) > self._now(),
        )

    def _file(self, row: UploadRow) -> UploadedFile:
        context = f"uploads:{row.handle}:description"
        described = msgspec.msgpack.decode(
            self._keyring.decrypt(row.description, context=context), type=_Description
        )
        upload, size = row.id or 0, row.size
        return UploadedFile(
            handle=row.handle,
            name=described.name,
            media_type=described.media_type,
            size=size,
            expires_at=from_ms(row.expires_at),
            chunks=lambda: self._chunks(upload, size),
        )

    async def _chunks(self, upload: int, size: int) -> AsyncIterator[bytes]:
        """
        Yield the bytes of a file.

        Raises:
            Missing: It was deleted meanwhile, or its key is not in the ring any more.
            Overloaded: The database did not answer.
        """
        for number in range(-(-size // CHUNK_BYTES)):
            try:
                async with self._database.reading() as session:
                    rows = await session.exec(
                        select(UploadChunkRow.content).where(
                            col(UploadChunkRow.upload_id) == upload,
                            col(UploadChunkRow.number) == number,
                        )
                    )
                    sealed = rows.first()
            except StorageUnavailable as failure:
                raise Overloaded from failure
            try:
                chunk = self._keyring.decrypt(sealed or b"", context=_context(upload, number))
            except ValueError:  # it was deleted, or its key left the ring
                raise Missing from None
            yield chunk


class TokenUploads(msgspec.Struct, frozen=True):
    """The files of one token."""

    uploads: UploadStore
    token_id: int

    async def store(self, name: str, media_type: str, chunks: AsyncIterator[bytes]) -> UploadedFile:
        return await self.uploads.store(self.token_id, name, media_type, chunks)

    async def require_room(self, size: int) -> None:
        """See `graph.attachment_uploads.UploadsOfToken.require_room`."""
        await self.uploads.require_room(self.token_id, size)

    async def find(self, handle: str) -> UploadedFile | None:
        return await self.uploads.find(self.token_id, handle)

    async def delete(self, handle: str) -> bool:
        return await self.uploads.delete(self.token_id, handle)


async def _require_count(
    session: AsyncSession, token_id: int, *counted: ColumnElement[bool]
) -> None:
    """Refuse one more file of a token; the conditions *counted* say which files count."""
    count = select(func.count()).where(col(UploadRow.token_id) == token_id, *counted)
    if (await session.exec(count)).one() >= MAX_FILES:
        raise Conflict(
            f"A token has at most {MAX_FILES} uploaded files, each for an hour.",
            code=Code.UPLOAD_LIMIT,
        )


async def _require_bytes(
    session: AsyncSession, token_id: int, size: int, *counted: ColumnElement[bool]
) -> None:
    """Refuse *size* more bytes of a token's files; *counted* as in `_require_count`."""
    total = func.coalesce(func.sum(col(UploadRow.size)), 0)
    stored = await session.exec(select(total).where(col(UploadRow.token_id) == token_id, *counted))
    if stored.one() + size > MAX_BYTES:
        raise Conflict(
            f"The uploaded files of a token have at most {MAX_BYTES} bytes together."
            " Each is deleted after an hour.",
            code=Code.UPLOAD_LIMIT,
        )


async def _cut(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the bytes in chunks of `CHUNK_BYTES`; the last may be shorter."""
    buffer = bytearray()
    async for chunk in chunks:
        buffer += chunk
        while len(buffer) >= CHUNK_BYTES:
            yield bytes(buffer[:CHUNK_BYTES])
            del buffer[:CHUNK_BYTES]
    if buffer:
        yield bytes(buffer)


def _context(upload: int, number: int) -> str:
    return f"upload_chunks:{upload}:{number}"
