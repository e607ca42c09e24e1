"""Changes of files and list items: complete bodies, and the content afterwards."""

import pytest
from content_world import column

shared = pytest.mark.asyncio(loop_scope="session")  # for tests that change nothing


def successful_body(response):
    assert response.status_code == 200, response.text
    return response.json()


async def upload(content, data, folder="boats", token=None, **query):
    params = {"fileName": "new.txt", "folderId": content.id(folder), **query}
    return await content.call("POST", "/files/upload", token, params=params, content=data)


async def read(content, file_id):
    return (await content.get(f"/files/{file_id}")).json()["file"]


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
async def test_an_upload_stores_the_bytes(content, size):
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    body = successful_body(await upload(content, data))

    assert body["success"] is True
    assert {body["errorMessage"], body["errorCode"]} == {None}
    file = await read(content, body["fileId"])
    assert (file["name"], file["size"], file["parentFolderId"]) == (
        "new.txt",
        size,
        content.id("boats"),
    )
    link = (await content.get(f"/files/{body['fileId']}/download")).json()["downloadUrl"]
    assert link


@pytest.mark.parametrize(
    ("query", "announced", "sent"),
    [
        pytest.param({}, "", "text/plain", id="by its name"),
        pytest.param({}, "application/octet-stream", "text/plain", id="by its name, not as bytes"),
        pytest.param({}, "Text/CSV; charset=utf-8", "text/csv", id="as announced"),
        pytest.param({}, "t\xe9xt/plain", "text/plain", id="by its name, not as an odd header"),
        pytest.param({"mimeType": "image/PNG"}, "text/csv", "image/png", id="as named"),
    ],
)
async def test_an_upload_gets_the_declared_mime_type(content, query, announced, sent):
    params = {"fileName": "new.txt", "folderId": content.id("boats"), **query}
    headers = {"content-type": announced.encode("latin-1")}

    successful_body(
        await content.call("POST", "/files/upload", params=params, content=b"x", headers=headers)
    )

    (call,) = [call for call in content.calls() if call["method"] == "PUT"]
    assert call["headers"]["content-type"] == sent


async def test_an_upload_in_chunks_of_unknown_size_is_stored(content):
    async def chunks():
        for _ in range(7):
            yield b"0123456789" * 1000

    body = successful_body(await upload(content, chunks()))

    assert (await read(content, body["fileId"]))["size"] == 70_000


@shared
async def test_a_declared_size_above_the_limit_is_413_without_upstream_calls(readonly):
    params = {"fileName": "big.bin", "folderId": readonly.id("boats")}
    response = await readonly.call(
        "POST",
        "/files/upload",
        params=params,
        content=b"x",
        headers={"content-length": "104857601"},
    )

    body = response.json()
    assert response.status_code == 413
    assert (body["error"], body["errorCode"]) == ("PAYLOAD_TOO_LARGE", "TOO_LARGE")
    assert readonly.calls() == []


@shared
@pytest.mark.parametrize(
    ("query", "error"),
    [
        pytest.param({"fileName": "a/b"}, "VALIDATION_ERROR", id="a slash"),
        pytest.param({"fileName": ".."}, "VALIDATION_ERROR", id="dots"),
        pytest.param({"fileName": " a"}, "VALIDATION_ERROR", id="a leading blank"),
        pytest.param({"fileName": "con.txt"}, "VALIDATION_ERROR", id="a device"),
        pytest.param({"fileName": "~$notes.txt"}, "VALIDATION_ERROR", id="a lock file"),
        pytest.param({"fileName": "a" * 256}, "VALIDATION_ERROR", id="too long"),
        pytest.param({"fileName": ""}, "VALIDATION_ERROR", id="no name"),
        pytest.param({"folderId": ""}, "VALIDATION_ERROR", id="no folder"),
        pytest.param({"folderId": "boats"}, "INVALID_ID", id="no id"),
        pytest.param({"conflictBehavior": "merge"}, "INVALID_PARAMETER", id="another behaviour"),
        pytest.param({"description": "x" * 1001}, "VALIDATION_ERROR", id="a long description"),
        pytest.param({"mimeType": "plain"}, "VALIDATION_ERROR", id="a type without subtype"),
        pytest.param({"mimeType": "text/pl\u00e4in"}, "VALIDATION_ERROR", id="an odd type"),
        pytest.param({"mimeType": "text/a\r\nb: c"}, "VALIDATION_ERROR", id="a header in a type"),
    ],
)
async def test_an_invalid_upload_is_refused(readonly, query, error):
    response = await upload(readonly, b"x", **query)

    body = response.json()
    assert (response.status_code, body["error"]) == (400, error)
    assert (body["success"], body["errorCode"]) == (False, "INVALID_REQUEST")
    assert readonly.calls() == []


@shared
@pytest.mark.parametrize("kind", ["mixed; boundary=x", "related", "form-data-x; boundary=x"])
@pytest.mark.parametrize("spelling", ["multipart/", " Multipart/"])
async def test_an_envelope_is_never_stored(readonly, kind, spelling):
    envelope = (
        b'--x\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\nhi\r\n--x--\r\n'
    )
    query = {"fileName": "a.txt", "folderId": readonly.id("boats"), "mimeType": "text/plain"}

    response = await readonly.call(
        "POST",
        "/files/upload",
        params=query,
        content=envelope,
        headers={"content-type": f"{spelling}{kind}"},
    )

    body = response.json()
    sentence = "The body must be the file, or multipart/form-data with the file alone."
    assert (response.status_code, body) == (
        400,
        {
            "error": "VALIDATION_ERROR",
            "message": sentence,
            "requestId": body["requestId"],
            "details": [{"field": "$", "message": sentence}],
            "success": False,
            "fileId": None,
            "errorCode": "INVALID_REQUEST",
            "errorMessage": sentence,
        },
    )
    assert readonly.calls() == []


@shared
@pytest.mark.parametrize("missing", ["fileName", "folderId"])
async def test_missing_upload_parameters_are_named(readonly, missing):
    query = {"fileName": "a.txt", "folderId": readonly.id("boats")}
    del query[missing]

    response = await readonly.call("POST", "/files/upload", params=query, content=b"x")

    body = response.json()
    sentence = f"{missing} is required."
    assert response.status_code == 400
    assert body == {
        "error": "VALIDATION_ERROR",
        "message": sentence,
        "requestId": body["requestId"],
        "details": [{"field": missing, "message": "It is required."}],
        "success": False,
        "fileId": None,
        "errorCode": "INVALID_REQUEST",
        "errorMessage": sentence,
    }
    assert readonly.calls() == []


async def test_a_taken_name_is_a_conflict_by_default(content):
    taken = {"fileName": "sketch.pdf"}

    response = await upload(content, b"x", **taken)
    assert (response.status_code, response.json()["error"]) == (409, "NAME_CONFLICT")
    renamed = successful_body(await upload(content, b"x", conflictBehavior="rename", **taken))
    assert renamed["fileId"] != content.id("sketch")
    replaced = successful_body(await upload(content, b"xy", conflictBehavior="replace", **taken))
    assert replaced["fileId"] == content.id("sketch")
    assert (await read(content, replaced["fileId"]))["size"] == 2


async def test_a_small_file_is_uploaded_by_graphql(content):
    document = """mutation ($folder: String!, $bytes: FileContent!) {
      uploadFile(fileName: "g.txt", folderId: $folder, input: $bytes) { success fileId } }"""

    body = await content.graphql(document, folder=content.id("boats"), bytes="aGVsbG8=")

    created = body["data"]["uploadFile"]
    assert created["success"] is True
    assert (await read(content, created["fileId"]))["size"] == 5


async def test_a_folder_is_created(content):
    written = {"name": "New", "parentFolderId": content.id("boats")}

    body = successful_body(await content.call("POST", "/folders", json=written))

    folder = await read(content, body["fileId"])
    assert (folder["name"], folder["isFolder"], folder["parentFolderId"]) == (
        "New",
        True,
        content.id("boats"),
    )
    again = await content.call("POST", "/folders", json=written)
    assert (again.status_code, again.json()["errorCode"]) == (409, "NAME_CONFLICT")


async def test_a_folder_without_parent_is_created_in_the_default_library(content):
    body = successful_body(await content.call("POST", "/folders", json={"name": "Top"}))

    assert (await read(content, body["fileId"]))["parentFolderId"] == content.id("own")


async def test_a_file_is_renamed(content):
    path = f"/files/{content.id('notes')}/rename"

    body = successful_body(await content.call("PATCH", path, json={"newName": "later.txt"}))

    assert body["fileId"] == content.id("notes")
    assert (await read(content, content.id("notes")))["name"] == "later.txt"


async def test_the_root_of_a_library_is_neither_renamed_nor_deleted(content):
    path = f"/files/{content.id('documents')}"
    content.forget_calls()

    renamed = await content.call("PATCH", f"{path}/rename", json={"newName": "Other"})
    deleted = await content.call("DELETE", path)

    for response, word in ((renamed, "renamed"), (deleted, "deleted")):
        body = response.json()
        assert (response.status_code, body["error"]) == (400, "INVALID_REQUEST")
        assert body["message"] == f"The root folder of a library cannot be {word}."
    assert {call["method"] for call in content.calls()} == {"GET"}


@pytest.mark.parametrize("name", ["ends with a dot.", "two dots.."])
async def test_a_name_that_the_provider_reserves_is_400_and_changes_nothing(content, name):
    path = f"/files/{content.id('notes')}/rename"
    before = (await read(content, content.id("notes")))["name"]

    response = await content.call("PATCH", path, json={"newName": name})

    body = response.json()
    assert (response.status_code, body["error"]) == (400, "VALIDATION_ERROR")
    assert body["errorCode"] == "INVALID_REQUEST"
    assert body["message"] == "The provider does not accept this name."
    assert (await read(content, content.id("notes")))["name"] == before


async def test_a_file_is_moved(content):
    path = f"/files/{content.id('notes')}/move"
    body = successful_body(
        await content.call("PATCH", path, json={"destinationFolderId": content.id("boats")})
    )

    assert body["fileId"] == content.id("notes")
    assert (await read(content, content.id("notes")))["parentFolderId"] == content.id("boats")


@shared
@pytest.mark.parametrize(
    ("what", "where"),
    [
        pytest.param("notes", "hull", id="a file of another library"),
        pytest.param("notes", "sketch", id="no folder"),
        pytest.param("boats", "inner", id="inside of itself"),
        pytest.param("boats", "boats", id="itself"),
        pytest.param("notes", "drawings", id="another library"),
    ],
)
async def test_an_invalid_destination_is_refused(readonly, what, where):
    response = await readonly.call(
        "PATCH",
        f"/files/{readonly.id(what)}/move",
        json={"destinationFolderId": readonly.id(where)},
    )

    body = response.json()
    assert (response.status_code, body["error"]) == (400, "INVALID_DESTINATION")
    assert (body["success"], body["errorCode"]) == (False, "INVALID_DESTINATION")


@shared
async def test_a_malformed_id_in_a_body_is_an_invalid_id(readonly):
    response = await readonly.call(
        "PATCH", f"/files/{readonly.id('notes')}/move", json={"destinationFolderId": "boats"}
    )

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_ID")


@pytest.mark.slow
async def test_deleting_a_folder_deletes_its_contents(content):
    response = await content.call("DELETE", f"/files/{content.id('boats')}")

    assert (response.status_code, response.content) == (204, b"")
    for name in ("boats", "plan"):
        assert (await content.get(f"/files/{content.id(name)}")).status_code == 404


async def test_a_stale_etag_changes_nothing(content):
    path = f"/files/{content.id('notes')}"
    tag = (await content.get(path)).headers["etag"]
    successful_body(await content.call("PATCH", f"{path}/rename", json={"newName": "one.txt"}))

    response = await content.call("DELETE", path, headers={"if-match": tag})

    assert (response.status_code, response.json()["error"]) == (412, "PRECONDITION_FAILED")
    assert (await content.get(path)).status_code == 200


async def test_a_permission_is_created_changed_and_deleted(content):
    path = f"/files/{content.id('house')}"
    written = {"type": "user", "role": "reader", "emailAddress": "bob@x.example"}

    share_result = successful_body(await content.call("POST", f"{path}/share", json=written))
    permission = share_result["permissionId"]
    assert permission
    permission_path = f"{path}/permissions/{permission}"
    assert (
        successful_body(await content.call("PATCH", permission_path, json={"role": "writer"}))[
            "success"
        ]
        is True
    )
    permissions = (await content.get(f"{path}/permissions")).json()["permissions"]
    assert {p["role"] for p in permissions if p["id"] == permission} == {"writer"}
    assert (await content.call("DELETE", permission_path)).status_code == 204
    assert (await content.call("DELETE", permission_path)).status_code == 404


async def test_commenters_are_shared_with_as_readers(content):
    path = f"/files/{content.id('house')}"
    written = {"type": "user", "role": "commenter", "emailAddress": "bob@x.example"}

    shared = successful_body(await content.call("POST", f"{path}/share", json=written))

    permission = shared["permissionId"]
    assert shared == {
        "success": True,
        "fileId": content.id("house"),
        "permissionId": permission,
        "role": "reader",
        "errorMessage": None,
        "errorCode": None,
    }
    change = f"{path}/permissions/{permission}"
    for role, given in (("writer", "writer"), ("commenter", "reader")):
        changed = successful_body(await content.call("PATCH", change, json={"role": role}))
        assert changed == shared | {"role": given}
        permissions = (await content.get(f"{path}/permissions")).json()["permissions"]
        assert {p["role"] for p in permissions if p["id"] == permission} == {given}


async def test_graphql_tells_the_role_that_was_shared(content):
    document = """mutation($id: String!, $to: ShareDriveFileInput!) {
      shareFile(fileId: $id, input: $to) { role }
    }"""

    answer = await content.graphql(
        document, id=content.id("house"), to={"type": "anyone", "role": "commenter"}
    )

    assert answer["data"] == {"shareFile": {"role": "reader"}}


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("notAllowed", "The provider's policy does not allow this."),
        ("accessDenied", "The provider denies this account access to the change."),
        ("sharingDisabled", "The provider's policy does not allow sharing here."),
        ("somethingNew", "The provider refused the request."),
    ],
)
async def test_a_refusal_tells_the_providers_reason(content, code, sentence):
    written = {"type": "anyone", "role": "reader"}
    path = f"/files/{content.id('house')}/share"
    await content.fail(kind="403", reason=code, match="createLink")

    response = await content.call("POST", path, json=written)

    body = response.json()
    assert (response.status_code, body) == (
        403,
        {
            "error": "PROVIDER_REFUSED",
            "message": sentence,
            "requestId": body["requestId"],
            "success": False,
            "fileId": None,
            "permissionId": None,
            "role": None,
            "errorCode": "OPERATION_NOT_ALLOWED",
            "errorMessage": sentence,
        },
    )


@shared
@pytest.mark.parametrize(
    "written",
    [
        pytest.param({"type": "user", "role": "reader"}, id="a user without an address"),
        pytest.param({"type": "group", "role": "reader"}, id="a group without an address"),
        pytest.param({"type": "domain", "role": "reader"}, id="a domain without its name"),
        *(
            pytest.param(
                {"type": "user", "role": "reader", "emailAddress": address}, id=address[:12]
            )
            for address in (
                "nobody",
                "@x.example",
                "ann@",
                "a@b@x.example",
                "a b@x.example",
                f"{'a' * 320}@x",
            )
        ),
        pytest.param({"type": "everybody", "role": "reader"}, id="another type"),
        pytest.param({"type": "anyone", "role": "owner"}, id="another role"),
        pytest.param({"type": "anyone", "role": "reader", "message": "x" * 2001}, id="long"),
        pytest.param({}, id="nothing"),
    ],
)
async def test_an_invalid_share_is_refused(readonly, written):
    readonly.forget_calls()

    response = await readonly.call("POST", f"/files/{readonly.id('house')}/share", json=written)

    body = response.json()
    assert (response.status_code, body["error"]) == (400, "VALIDATION_ERROR")
    assert (body["success"], body["errorCode"]) == (False, "INVALID_REQUEST")
    assert body["details"]
    assert readonly.calls() == []


async def test_the_owners_permission_cannot_be_changed(content):
    path = f"/files/{content.id('house')}/permissions"
    permissions = (await content.get(path)).json()["permissions"]
    owner = next(item for item in permissions if item["role"] == "owner")

    response = await content.call("DELETE", f"{path}/{owner['id']}")

    assert (response.status_code, response.json()["error"]) == (400, "VALIDATION_ERROR")


async def test_a_list_item_is_created_changed_and_deleted(content):
    path = content.path("berths", 0)

    created = await content.call("POST", path, json={"fields": {"Title": "New", "Length": 9}})
    assert created.status_code == 201, created.text
    body = created.json()
    assert (body["name"], body["fields"]["Length"]) == ("New", 9)
    item_path = f"{path}/{body['id']}"
    tag = {"if-match": created.headers["etag"]}
    change = {"fields": {"Length": None, "Paid": True}}
    changed = await content.call("PATCH", item_path, json=change, headers=tag)
    assert changed.status_code == 200, changed.text
    assert (await content.call("PATCH", item_path, json=change, headers=tag)).status_code == 412
    fields = changed.json()["fields"]
    assert (fields.get("Length"), fields["Paid"]) == (None, True)
    assert (await content.call("DELETE", item_path)).status_code == 204
    assert (await content.get(item_path)).status_code == 404


@shared
@pytest.mark.parametrize(
    ("fields", "error"),
    [
        pytest.param({}, "VALIDATION_ERROR", id="none"),
        pytest.param([], "VALIDATION_ERROR", id="a list"),
        pytest.param({f"F{n}": 1 for n in range(101)}, "VALIDATION_ERROR", id="too many"),
        pytest.param({"Nothing": 1}, "INVALID_FIELDS", id="no column"),
        pytest.param({"Code": "x"}, "INVALID_FIELDS", id="a column that is read-only"),
    ],
)
async def test_fields_that_cannot_be_written_are_refused(readonly, fields, error):
    for method, path in (
        ("POST", readonly.path("berths", 0)),
        ("PATCH", readonly.path("berths", 1)),
    ):
        response = await readonly.call(method, path, json={"fields": fields})
        assert (response.status_code, response.json()["error"]) == (400, error)


async def test_a_required_column_must_have_a_value_on_creation(content):
    response = await content.call("POST", content.path("crew", 0), json={"fields": {"Title": "x"}})

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_FIELDS")
    assert [detail["field"] for detail in response.json()["details"]] == ["fields.Phone"]


async def test_a_calculated_column_is_rejected_by_name(content):
    content.resources["tolls"] = content.make.list_in(
        content.resources["yard"],
        "Tolls",
        (column("Fee", "number"), column("Twice", "calculated", facet={"formula": "=Fee*2"})),
        [{"Title": "T", "Fee": 1}],
    )
    content.make.save()
    content.forget_calls()

    response = await content.call("PATCH", content.path("tolls", 1), json={"fields": {"Twice": 4}})

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_FIELDS")
    assert response.json()["details"] == [
        {"field": "fields.Twice", "message": "The column is read-only."}
    ]
    assert {call["method"] for call in content.calls()} == {"GET"}


@pytest.mark.slow
async def test_library_items_cannot_be_created_as_list_items(content):
    lists = (await content.get(f"/sites/{content.id('yard')}/lists")).json()["lists"]
    library = next(
        list_entry["id"] for list_entry in lists if list_entry["displayName"] == "Documents"
    )
    path = f"/sites/{content.id('yard')}/lists/{library}/items"
    content.forget_calls()

    response = await content.call("POST", path, json={"fields": {"Title": "x"}})

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_FIELDS")
    assert response.json()["message"] == "The items of a library are created by uploading files."
    assert {call["method"] for call in content.calls()} == {"GET"}


async def test_a_value_that_the_provider_rejects_is_refused(content):
    fields = {"Title": "x", "Length": "long"}
    response = await content.call("POST", content.path("berths", 0), json={"fields": fields})

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_FIELDS")
    assert [detail["field"] for detail in response.json()["details"]] == ["fields"]


async def test_if_match_protects_a_list_item(content):
    path = content.path("berths", 1)
    tag = (await content.get(path)).headers["etag"]
    first = await content.call(
        "PATCH", path, json={"fields": {"Length": 1}}, headers={"if-match": tag}
    )
    second = await content.call(
        "PATCH", path, json={"fields": {"Length": 2}}, headers={"if-match": tag}
    )
    third = await content.call("DELETE", path, headers={"if-match": tag})

    assert [response.status_code for response in (first, second, third)] == [200, 412, 412]
    assert first.headers["etag"] != tag
    assert second.json()["error"] == "PRECONDITION_FAILED"
    assert (await content.get(path)).json()["fields"]["Length"] == 1


async def test_a_write_without_the_read_flag_returns_the_id_only(content):
    token = await content.token(allowedCollabOperations=["write_list_item"])

    created = await content.call(
        "POST", content.path("berths", 0), token, json={"fields": {"Title": "New"}}
    )

    body = created.json()
    assert created.status_code == 201
    assert body.pop("id").startswith(content.id("berths"))
    assert set(body.values()) == {None}


async def test_a_write_does_not_return_masked_values(content):
    token = await content.token_with_fields("name")

    created = await content.call(
        "POST", content.path("berths", 0), token, json={"fields": {"Title": "New"}}
    )

    assert (created.json()["name"], created.json()["fields"]) == ("New", None)


async def test_a_read_only_connection_changes_nothing(content):
    from world import READ_ONLY

    token = await content.token(resources=(READ_ONLY,))
    content.forget_calls()
    for method, path, more in (
        ("POST", "/folders", {"json": {"name": "New"}}),
        ("DELETE", f"/files/{content.id('notes')}", {}),
        ("POST", content.path("berths", 0), {"json": {"fields": {"Title": "x"}}}),
    ):
        response = await content.call(method, path, token, **more)
        assert (response.status_code, response.json()["error"]) == (403, "READ_ONLY")
    assert content.calls() == []


async def test_upstream_throttling_is_forwarded(content):
    token = await content.token()
    await content.fail(kind="429", count=50, retryAfter=7)

    response = await content.get(f"/files/{content.id('notes')}", token)

    assert (response.status_code, response.json()["error"]) == (429, None)
    assert response.headers["retry-after"] == "7"


async def test_an_upstream_failure_has_no_code(content):
    token = await content.token()
    await content.fail(kind="500", count=50)

    response = await content.get(f"/files/{content.id('notes')}", token)

    assert (response.status_code, response.json()["error"]) == (502, None)
