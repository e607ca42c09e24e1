"""The committed artefacts are what the code builds; `./run schema` writes them."""

import artefacts
import orjson
import pytest
from paths import REPOSITORY

from rest_compat.table import ENDPOINTS

ROOT = REPOSITORY


@pytest.fixture(scope="module")
def openapi():
    return artefacts.ARTEFACTS["openapi.json"]()


@pytest.mark.parametrize("name", artefacts.ARTEFACTS)
def test_it_is_committed_as_built(name):
    assert (ROOT / name).read_text("utf-8") == artefacts.ARTEFACTS[name]()


def test_every_row_is_described_under_an_id_of_its_own(openapi):
    paths = orjson.loads(openapi)["paths"]
    described = {
        (method.upper(), path): operation["operationId"]
        for path, operations in paths.items()
        for method, operation in operations.items()
    }

    of_documents = {("POST", "/graphql/rest-of"), ("POST", "/graphql/explain")}
    assert set(described) == {(row.method, row.path) for row in ENDPOINTS} | of_documents
    assert len(set(described.values())) == len(described)


def test_every_reference_resolves(openapi):
    document = orjson.loads(openapi)
    for reference in {part.split('"')[0] for part in openapi.split('"$ref": "#/components/')[1:]}:
        kind, name = reference.split("/")
        assert name in document["components"][kind]


def test_every_component_is_referenced(openapi):
    components = orjson.loads(openapi)["components"]
    for kind in ("schemas", "headers", "parameters", "responses"):
        idle = [name for name in components[kind] if f'"#/components/{kind}/{name}"' not in openapi]
        assert idle == []


async def test_the_management_api_is_described_in_our_words(world):
    async with world.client() as client:
        response = await client.get("/api/management/openapi.json")

    document = response.json()
    rotate = document["paths"]["/api/access-tokens/{tokenId}/rotate"]["post"]
    assert rotate["operationId"] == "rotateToken"
    assert rotate["security"] == [{"adminToken": []}]
    assert [parameter["name"] for parameter in rotate["parameters"]] == ["tokenId"]
    assert "422" not in rotate["responses"]
    ids = [
        operation["operationId"]
        for path in document["paths"].values()
        for operation in path.values()
    ]
    assert len(ids) == len(set(ids))
    references = set(response.text.split('"$ref":"#/components/')[1:])
    for reference in references:
        kind, name = reference.split('"')[0].split("/")
        assert name in document["components"][kind]
