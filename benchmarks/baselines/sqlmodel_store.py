"""Token store through SQLModel: one session and one joined select per request."""

import hashlib
import json
import time
from pathlib import Path

from fastapi import HTTPException
from sqlmodel import Session, col, create_engine, select

from benchmarks.baselines.stores import Decrypt, Token, allowed
from gateway.store.tables import AccessToken, ConnectionRow, TokenResource


class Models:
    """Tokens in the gateway's SQLite file, read as objects; see `stores.Store`."""

    def __init__(self, path: Path, decrypt: Decrypt) -> None:
        self._engine = create_engine(f"sqlite:///{path}")
        self._decrypt = decrypt

    def find(self, header: str) -> Token:
        """Read a token, in the event loop: a thread would cost more."""
        digest = hashlib.sha256(header.removeprefix("Bearer ").encode()).digest()
        with Session(self._engine) as session:
            row = session.exec(
                select(AccessToken, ConnectionRow)
                .join(TokenResource, col(TokenResource.token_id) == col(AccessToken.id))
                .join(
                    ConnectionRow, col(ConnectionRow.resource_id) == col(TokenResource.resource_id)
                )
                .where(
                    AccessToken.digest == digest,
                    ConnectionRow.kind == "email",
                    ConnectionRow.status == "active",
                )
            ).first()
        if row is None:
            raise HTTPException(401)
        token, connection = row
        expired = token.expires_at is not None and token.expires_at <= time.time() * 1000
        if token.revoked_at is not None or expired:
            raise HTTPException(401)
        credentials = json.loads(self._decrypt(connection.id or 0, connection.credentials or b""))
        return allowed(token.id or 0, json.dumps(token.settings), credentials["accessToken"])

    def close(self) -> None:
        """Close the file."""
        self._engine.dispose()
