"""
The plain application under uvicorn, in a process of its own.

    python -m benchmarks.baselines.served PORT UPSTREAM FILE
"""

import sys
from pathlib import Path

import uvicorn

from benchmarks.baselines import fastapi_app, stock_client
from benchmarks.baselines.stores import File
from gateway.secrets.keyring import Keyring, column_context

KEY = "a key of the benchmark alone"


def main(port: str, upstream: str, file: str) -> None:
    """Serve the application on the gateway's own database."""
    stock_client.provide_sniffio()
    keyring = Keyring.read(KEY)

    def decrypt(connection: int, ciphertext: bytes) -> bytes:
        return keyring.decrypt(
            ciphertext, context=column_context("connections", connection, "credentials")
        )

    app = fastapi_app.build(
        stock_client.tuned(), File(Path(file), decrypt), base=upstream, provider="b"
    )
    uvicorn.run(app, port=int(port), loop="uvloop", http="httptools", log_level="critical")


if __name__ == "__main__":
    main(*sys.argv[1:])
