"""
A process whose gateway has the invented connector too: writes what its interfaces show of it.

The connector is a file beside those of the product, which a path of the package stands for.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import httpx

import providers.connectors

ADMIN = "an-admin-token-of-the-tests"
CREDENTIALS = {"username": "me", "password": "secret"}


def _client(gateway, token):
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(gateway),
        base_url="http://gateway.test",
        headers={"authorization": f"Bearer {token}"},
    )


async def _show(folder):
    from gateway.app import assemble
    from gateway.settings import Settings
    from graph import schema

    gateway = assemble(
        Settings(
            _env_file=None,
            admin_token=ADMIN,
            secret_keys="a secret key of the tests",
            data_dir=folder,
        )
    )
    async with gateway.running(), _client(gateway, ADMIN) as admin:

        async def made(path, body):
            response = await admin.post(f"/api/{path}", json=body)
            return response.json() if response.status_code < 300 else response.text

        operator = await made("operators", {"email": "op@home.example", "displayName": "Op"})
        resource = await made("resources", {"name": "main", "operatorIds": [operator["id"]]})
        account = {
            "resourceId": resource["id"],
            "operatorId": operator["id"],
            "kind": "email",
            "provider": "INVENTED",
            "accountEmail": "me@mail.example.org",
            "baseUrl": "https://mail.example.org",
        }
        without_password = await made("connections", {**account, "credentials": {"apiToken": "x"}})
        connection = await made("connections", {**account, "credentials": CREDENTIALS})
        settings = {
            "emailAccessEnabled": True,
            "allowedEmailOperations": ["search_emails", "view_email"],
        }
        token = await made(
            "access-tokens",
            {
                "operatorId": operator["id"],
                "resourceIds": [resource["id"]],
                "name": "t",
                "settings": settings,
            },
        )
        check = await made(f"connections/{connection['id']}/check", {})
        described = (await admin.get("/api/management/openapi.json")).json()
        async with _client(gateway, token["token"]) as client:
            query = "{ emails { emails { id subject provider } authWarnings } }"
            page = await client.post("/graphql", json={"query": query})
            messages = "/api/access/email/messages"
            rest = [await client.get(f"{messages}/invented:{name}") for name in ("m1", "m2")]
    provider = described["components"]["schemas"]["Connection"]["properties"]["provider"]
    return {
        "refused": without_password,
        "page": page.json(),
        "message": {name: rest[0].json()[name] for name in ("id", "subject", "provider")},
        "missing": rest[1].status_code,
        "check": check,
        "codes": provider["enum"],
        "in the schema": "INVENTED" in schema.sdl(),
    }


if __name__ == "__main__":
    providers.connectors.__path__.append(str(Path(__file__).parent / "connectors"))
    with tempfile.TemporaryDirectory() as folder:
        json.dump(asyncio.run(_show(Path(folder))), sys.stdout)
