import pytest

from sandbox.provider_a import partial_response

CONTENT = {
    "id": "1",
    "payload": {
        "mimeType": "a/b",
        "body": {"size": 1, "data": "x"},
        "parts": [
            {"partId": "0", "body": {"size": 2, "data": "y"}, "parts": [{"partId": "0.0"}]},
            {"partId": "1", "body": {"size": 3}},
        ],
    },
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", CONTENT),
        ("*", CONTENT),
        ("id", {"id": "1"}),
        ("id,nothing", {"id": "1"}),
        ("payload/mimeType", {"payload": {"mimeType": "a/b"}}),
        ("payload(mimeType,body/size)", {"payload": {"mimeType": "a/b", "body": {"size": 1}}}),
        ("payload/body(size),id", {"id": "1", "payload": {"body": {"size": 1}}}),
        (
            "payload(parts(partId,body(size)))",
            {
                "payload": {
                    "parts": [
                        {"partId": "0", "body": {"size": 2}},
                        {"partId": "1", "body": {"size": 3}},
                    ]
                }
            },
        ),
        ("payload/parts/parts", {"payload": {"parts": [{"parts": [{"partId": "0.0"}]}, {}]}}),
        (
            "payload/*/size",
            {"payload": {"mimeType": "a/b", "body": {"size": 1}, "parts": [{}, {}]}},
        ),
        (
            "payload/mimeType,payload/body/size",
            {"payload": {"mimeType": "a/b", "body": {"size": 1}}},
        ),
        ("payload/body/size,payload", {"payload": CONTENT["payload"]}),
    ],
)
def test_a_selection_keeps_what_it_names(text, expected):
    assert partial_response.apply(CONTENT, partial_response.parse(text)) == expected


@pytest.mark.parametrize("text", [",", "a(", "a(b", "a)", "a/", "(a)", "a,,b", "a()"])
def test_a_broken_selection_is_refused(text):
    with pytest.raises(partial_response.BadSelection):
        partial_response.parse(text)


def test_an_unknown_member_is_refused_where_the_members_are_known():
    selection = partial_response.parse("id,payload(bogus)")
    with pytest.raises(partial_response.BadSelection, match="bogus"):
        partial_response.check(selection, frozenset({"id", "payload"}))
