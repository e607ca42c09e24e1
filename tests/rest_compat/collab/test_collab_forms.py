"""Uploads as forms: the file is stored without its envelope, or nothing is."""

import asyncio
import tracemalloc

import httpx
import pytest

shared = pytest.mark.asyncio(loop_scope="session")  # for tests that change nothing
FORM = {"content-type": "multipart/form-data; boundary=b"}
FILE = b'--b\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\nhi'
FIELD = b'--b\r\nContent-Disposition: form-data; name="note"\r\n\r\nhi'
END = b"\r\n--b--\r\n"
NOT_ONE_FILE = "The form must be one file part and nothing else."
MALFORMED = "The form is malformed, or has more than 20 header lines or 8192 bytes around its file."
INCOMPLETE = "The form ends before its last boundary."


def with_header(line):
    return FILE.replace(b"\r\n\r\n", b"\r\n" + line + b"\r\n\r\n", 1) + END


async def post(content, body=None, *, headers=FORM, token=None, query=None, **more):
    params = {"folderId": content.id("boats"), **(query or {})}
    if body is not None:
        more |= {"content": body, "headers": headers}
    return await content.call("POST", "/files/upload", token, params=params, **more)


def stored(content, name):
    """Return the bytes of a file of the library."""
    shelf = content.world.sandbox.state.content
    items = shelf.items(content.resources["documents"].drive_id)
    (item,) = [item for item in items if item.name == name]
    return shelf.blobs.path(item.blob).read_bytes() if item.blob else b""


def written_types(content):
    return [call["headers"]["content-type"] for call in content.calls() if call["method"] == "PUT"]


def assert_refused(response, sentence):
    body = response.json()
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


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
async def test_the_file_of_a_form_is_stored_alone(content, size):
    data = (bytes(range(256)) * (size // 256 + 1))[:size]

    response = await post(content, files={"upload": ("new.bin", data, "image/png")})

    assert (response.status_code, response.json()) == (
        200,
        {
            "success": True,
            "fileId": response.json()["fileId"],
            "errorMessage": None,
            "errorCode": None,
        },
    )
    assert stored(content, "new.bin") == data


@pytest.mark.parametrize("end", [b"\r\n--b--", END, b"\r\n--b--\r\n\r\n", b"\r\n--b-- \r\nbye"])
@pytest.mark.parametrize("size", [3, 5_000_000])
async def test_a_form_may_end_in_several_ways(content, end, size):
    data = b"\r\n-" * (size // 3)
    head = FILE.removesuffix(b"hi")

    response = await post(content, head + data + end)

    assert response.status_code == 200, response.text
    assert stored(content, "a.txt") == data


@pytest.mark.parametrize(
    ("query", "part", "name", "sent"),
    [
        pytest.param({}, ("a.png", b"x"), "a.png", "image/png", id="as the part says"),
        pytest.param(
            {}, ("a.txt", b"x", "application/octet-stream"), "a.txt", "text/plain", id="by its name"
        ),
        pytest.param({"fileName": "b"}, ("a", b"x", "Text/CSV"), "b", "text/csv", id="named"),
        pytest.param({"fileName": "b"}, ("\x01/", b"x", "a/b"), "b", "a/b", id="another name"),
        pytest.param(
            {"mimeType": "a/b"}, ("é 漢.txt", b"x", "text/csv"), "é 漢.txt", "a/b", id="typed"
        ),
    ],
)
async def test_the_query_wins_over_the_part(content, query, part, name, sent):
    response = await post(content, files={"f": part}, query=query)

    assert response.status_code == 200, response.text
    assert written_types(content) == [sent]
    assert stored(content, name) == b"x"


async def test_a_part_without_a_type_is_typed_by_its_name(content):
    response = await post(content, FILE + END)

    assert response.status_code == 200, response.text
    assert (written_types(content), stored(content, "a.txt")) == (["text/plain"], b"hi")


@shared
@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        pytest.param(FIELD + END, NOT_ONE_FILE, id="a field alone"),
        pytest.param(FIELD + b"\r\n" + FILE + END, NOT_ONE_FILE, id="a field first"),
        pytest.param(b"--b--\r\n", NOT_ONE_FILE, id="no part"),
        pytest.param(
            FILE.replace(b"form-data", b"attachment") + END, NOT_ONE_FILE, id="an attachment"
        ),
        pytest.param(FILE.replace(b"filename", b"filename*") + END, NOT_ONE_FILE, id="no filename"),
        pytest.param(b"--b\r\n\r\nhi" + END, NOT_ONE_FILE, id="no headers"),
        pytest.param(
            with_header(b"Content-Type: Multipart/mixed; boundary=c"), NOT_ONE_FILE, id="nested"
        ),
        pytest.param(
            with_header(b"Content-Transfer-Encoding: base64"),
            "The file part must not have a Content-Transfer-Encoding.",
            id="encoded",
        ),
        pytest.param(
            FILE.replace(b"a.txt", b"\xff.txt") + END,
            "The file name of the part is not UTF-8.",
            id="a name in another encoding",
        ),
        pytest.param(
            with_header(b"content-disposition: form-data; filename=b"), MALFORMED, id="a line twice"
        ),
        pytest.param(
            with_header(b"\r\n".join(b"X-%d: 1" % n for n in range(20))), MALFORMED, id="21 lines"
        ),
        pytest.param(with_header(b"X: " + b"x" * 8192), MALFORMED, id="a long line"),
        pytest.param(
            with_header(b"\r\n".join(b"X-%d: " % n + b"x" * 600 for n in range(15))),
            MALFORMED,
            id="long lines",
        ),
        pytest.param(b"\r\n" + FILE + END, MALFORMED, id="a preamble of a line"),
        pytest.param(b"Dear server\r\n" + FILE + END, MALFORMED, id="a preamble"),
        pytest.param(FILE.replace(b"--b", b"--c") + END, MALFORMED, id="another boundary"),
        pytest.param(with_header(b"no colon"), MALFORMED, id="no header"),
        pytest.param(b"hi", MALFORMED, id="no form"),
        pytest.param(b"", INCOMPLETE, id="nothing"),
        pytest.param(FILE.removesuffix(b"\r\n\r\nhi"), INCOMPLETE, id="half of the headers"),
    ],
)
async def test_a_form_that_begins_with_no_file_reaches_no_upstream(readonly, body, sentence):
    response = await post(readonly, body, query={"fileName": "a.txt"})

    assert_refused(response, sentence)
    assert readonly.calls() == []


@shared
@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        pytest.param(b"\r\n" + FILE + END, NOT_ONE_FILE, id="a second file"),
        pytest.param(b"\r\n" + FIELD + END, NOT_ONE_FILE, id="a field"),
        pytest.param(b"\r\n--b\r\n", NOT_ONE_FILE, id="half of a part"),
        pytest.param(b"", INCOMPLETE, id="no boundary"),
        pytest.param(b"\r\n--b", INCOMPLETE, id="half of a boundary"),
        pytest.param(b"\r\n--b-", INCOMPLETE, id="nearly a boundary"),
        pytest.param(b"\r\n--b x", MALFORMED, id="a malformed boundary"),
        pytest.param(END + b"x" * 8192, MALFORMED, id="a long epilogue"),
    ],
)
@pytest.mark.parametrize("size", [2, 5_000_000])
async def test_a_form_that_ends_wrongly_writes_nothing_upstream(readonly, size, after, sentence):
    names = readonly.names("documents")

    response = await post(readonly, FILE + b"x" * (size - 2) + after)

    assert_refused(response, sentence)
    assert {call["method"] for call in readonly.calls()} <= {"GET"}
    assert readonly.names("documents") == names


@shared
@pytest.mark.parametrize(
    "parameters",
    [
        "",
        "; boundary",
        "; boundary=",
        "; boundary=" + "b" * 71,
        '; boundary="b "',
        '; boundary="b;"',
        "; boundary*=utf-8''b",
    ],
)
async def test_a_form_needs_a_boundary(readonly, parameters):
    headers = {"content-type": f"multipart/form-data{parameters}"}

    response = await post(readonly, FILE + END, headers=headers)

    assert_refused(response, "The Content-Type needs a boundary of 1 to 70 characters.")
    assert readonly.calls() == []


async def test_a_form_may_have_no_second_content_type(content):
    headers = [("content-type", "text/plain"), ("content-type", FORM["content-type"])]

    response = await post(content, FILE + END, headers=headers, query={"fileName": "a.txt"})

    sentence = "The body must be the file, or multipart/form-data with the file alone."
    assert_refused(response, sentence)
    assert content.calls() == []


@shared
@pytest.mark.parametrize("name", ["", "a/b", "con.txt", "a" * 256, "a\tb"])
async def test_the_name_of_a_part_is_checked_as_any_other(readonly, name):
    body = FILE.replace(b"a.txt", name.encode()) + END

    response = await post(readonly, body)

    body = response.json()
    assert (response.status_code, body["error"]) == (400, "VALIDATION_ERROR")
    assert [detail["field"] for detail in body["details"]] == ["fileName"]
    assert readonly.calls() == []


@pytest.mark.slow
async def test_the_type_of_a_part_is_judged_by_rules(content):
    token = await content.token(("mime_type", "image/png", "block"))

    response = await post(content, files={"f": ("a", b"x", "image/png")}, token=token)

    assert (response.status_code, response.json()["error"]) == (404, "BLOCKED")
    assert {call["method"] for call in content.calls()} <= {"GET"}


async def test_the_size_of_the_file_counts(content, monkeypatch):
    from rest_compat import uploads

    monkeypatch.setattr(uploads, "MAX_UPLOAD", 1000)

    most = await post(content, files={"f": ("most", b"x" * 1000)})
    more = await post(content, files={"f": ("more", b"x" * 1001)})

    assert (most.status_code, more.status_code) == (200, 413)
    assert (more.json()["error"], more.json()["errorCode"]) == ("PAYLOAD_TOO_LARGE", "TOO_LARGE")
    assert "more" not in content.names("documents")


async def test_a_declared_size_beyond_any_form_is_413_without_upstream_calls(content):
    headers = {**FORM, "content-length": str(104_857_600 + 8192 + 1)}

    response = await post(content, FILE + END, headers=headers)

    assert response.status_code == 413
    assert content.calls() == []


# -- streams


async def pieces(data, size):
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def test_a_form_may_come_byte_by_byte(content):
    response = await post(content, pieces(FILE + b"\r\n--" + END, 1))

    assert response.status_code == 200, response.text
    assert stored(content, "a.txt") == b"hi\r\n--"


async def run(content, token, messages):
    """Upload a form over raw ASGI: *messages* are received by the server; return what it sends."""
    remaining_messages, sent_messages = list(messages), []

    async def receive():
        if remaining_messages:
            return remaining_messages.pop(0)
        return await asyncio.Future()

    async def send(message):
        sent_messages.append(message)

    path = "/api/access/collab/files/upload"
    request = httpx.Request("POST", f"http://127.0.0.1:8000{path}", headers=FORM)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": f"folderId={content.id('boats')}".encode(),
        "root_path": "",
        "headers": [
            (b"authorization", f"Bearer {token}".encode()),
            *[(name.lower(), value) for name, value in request.headers.raw],
        ],
        "client": ("10.9.9.9", 5000),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }
    await content.world.gateway(scope, receive, send)
    return sent_messages, remaining_messages


def chunk(data, *, more=True):
    return {"type": "http.request", "body": data, "more_body": more}


@pytest.mark.parametrize("sent", [0, 20, len(FILE), 5_000_000], ids="{} bytes".format)
async def test_a_closed_connection_leaves_nothing_behind(content, sent):
    names = content.names("documents")
    begun = (FILE + b"x" * sent)[:sent]
    token = await content.token()
    content.forget_calls()

    sent_messages, _ = await run(content, token, [chunk(begun), {"type": "http.disconnect"}])

    assert sent_messages == []
    assert content.names("documents") == names
    assert {call["method"] for call in content.calls()} <= {"GET"}


async def test_a_refused_form_is_not_read(content):
    token = await content.token(("file_id", content.id("boats"), "block"))
    data = chunk(b"x" * 1024 * 1024)

    sent_messages, remaining_messages = await run(content, token, [chunk(FILE), *[data] * 8])

    assert sent_messages[0]["status"] == 404
    assert len(remaining_messages) >= 6  # those that were read came before it was admitted


@pytest.mark.slow
async def test_a_form_is_parsed_in_constant_memory(content):
    size = 12 * 1024 * 1024
    token = await content.token()
    data = chunk(b"x" * 64 * 1024)
    messages = [chunk(FILE), *[data] * (size // len(data["body"])), chunk(END, more=False)]
    await content.get("/sites", token)  # a finished creation stays
    tracemalloc.start()
    try:
        sent_messages, remaining_messages = await run(content, token, messages)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (sent_messages[0]["status"], remaining_messages) == (200, [])
    assert len(stored(content, "a.txt")) == size + 2
    assert peak < size


# -- under a key


async def post_with_key(content, data, boundary="b", **query):
    body = FILE.replace(b"--b", b"--" + boundary.encode()).removesuffix(b"hi") + data
    headers = {"content-type": f"multipart/form-data; boundary={boundary}", "idempotency-key": "k"}
    end = END.replace(b"--b", b"--" + boundary.encode())
    response = await post(content, body + end, headers=headers, query=query)
    replayed = response.headers.get("idempotent-replayed")
    return response.status_code, response.json().get("error"), replayed


async def test_under_a_key_the_bytes_of_the_file_count(content):
    first = await post_with_key(content, b"hello")
    content.forget_calls()

    assert first == (200, None, None)
    assert await post_with_key(content, b"hello", "other") == (200, None, "true")
    assert await post_with_key(content, b"help!") == (409, "IDEMPOTENCY_KEY_REUSED", None)
    assert await post_with_key(content, b"hello", fileName="b") == (
        409,
        "IDEMPOTENCY_KEY_REUSED",
        None,
    )
    assert content.calls() == []


async def test_an_incomplete_form_under_a_key_is_replayed_as_refused(content):
    headers = {**FORM, "idempotency-key": "k"}

    first = await post(content, FILE, headers=headers)
    again = await post(content, FILE, headers=headers)

    assert_refused(first, INCOMPLETE)
    assert (again.status_code, again.json()["error"]) == (400, "VALIDATION_ERROR")
    assert "a.txt" not in content.names("documents")
