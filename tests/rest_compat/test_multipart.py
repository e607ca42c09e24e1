"""The file of a form is the same however its bytes are cut, and whatever they are."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.refusals import Refusal
from rest_compat.multipart import FormFile

HEAD = b'Content-Disposition: form-data; name="f"; filename="a"\r\nContent-Type: a/b\r\n\r\n'
BOUNDARIES = st.sampled_from([b"b", b"-", b"--", b"b-b", b"----WebKitFormBoundaryX", b"b" * 70])


def parse(body, boundary, cuts):
    """Return name, type and bytes of the file, or the message of the refusal."""

    async def chunks():
        for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True):
            if start < end:
                yield body[start:end]

    async def read():
        file = FormFile(f'multipart/form-data; boundary="{boundary.decode()}"', chunks())
        try:
            await file.read_headers()
            return file.name, file.mime_type, b"".join([chunk async for chunk in file.chunks()])
        except Refusal as refusal:
            return str(refusal)

    return asyncio.run(read())


def cut(data, body):
    cuts = st.lists(st.integers(0, len(body)), max_size=20).map(sorted)
    return data.draw(cuts | st.just(list(range(1, len(body)))))


def bits(boundary):
    """Draw texts that nearly have a delimiter within."""
    delimiter = b"\r\n--" + boundary
    near = [delimiter[:end] for end in range(1, len(delimiter))]
    return st.sampled_from([*near, b"\r\n", b"\n--" + boundary, b"--" + boundary, b"-", b"x"])


@given(BOUNDARIES, st.data())
def test_every_file_comes_out_as_it_went_in(boundary, data):
    file = b"".join(data.draw(st.lists(bits(boundary) | st.binary(max_size=8), max_size=20)))
    delimiter = b"\r\n--" + boundary
    if delimiter in b"\r\n" + file:  # no client takes a boundary that its file has
        file = file.replace(b"-", b"+")
    body = b"--" + boundary + b"\r\n" + HEAD + file + delimiter + b"--\r\n"

    assert parse(body, boundary, cut(data, body)) == ("a", "a/b", file)


@given(BOUNDARIES, st.data())
def test_every_body_is_judged_alike_however_it_is_cut(boundary, data):
    lines = [b"--" + boundary, HEAD, b"\r\n--" + boundary, b"--", b"\r\n", b"\r", b" ", b":"]
    body = b"".join(
        data.draw(st.lists(st.sampled_from(lines) | bits(boundary), min_size=1, max_size=20))
    )

    assert parse(body, boundary, cut(data, body)) == parse(body, boundary, [])


@pytest.mark.parametrize("line", [b"\r\n--bX", b"\r\n--b-X", b"\r\n--b\rX", b"\r\n--b\r\r\n--b-"])
def test_a_line_of_the_file_that_begins_with_the_boundary_ends_the_reading(line):
    """The parser takes two hundred times as long for such lines as for others."""
    yielded = []

    async def chunks():
        for chunk in (b"--b\r\n" + HEAD, *[line * 1000] * 5, b"\r\n--b--"):
            yielded.append(chunk)
            yield chunk

    async def read():
        file = FormFile("multipart/form-data; boundary=b", chunks())
        await file.read_headers()
        return [chunk async for chunk in file.chunks()]

    with pytest.raises(Refusal, match="The form is malformed"):
        asyncio.run(read())

    assert len(yielded) == 2


@pytest.mark.parametrize("file", [b"--b", b"--bX", b"x\r\n--bX"])
def test_no_line_of_the_file_may_begin_with_the_boundary(file):
    body = b"--b\r\n" + HEAD + file + b"\r\n--b--"

    for cuts in ([], list(range(1, len(body)))):
        assert parse(body, b"b", cuts).startswith("The form is malformed")
