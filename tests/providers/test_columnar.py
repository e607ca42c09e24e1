"""Records made column by column."""

from dataclasses import dataclass

from providers.columnar import Columns, constant, each, member
from providers.records.mail import Attachment, Participant


@dataclass
class Sent:
    """What upstream sent; what must not be read is not there."""

    address: str


def test_every_attribute_is_read_by_its_column():
    kind = Columns(
        Attachment,
        {
            "id": member("address"),
            "name": member("address", str.upper),
            "size": each(lambda one: len(one.address)),
            "is_inline": constant(True),
        },
        always=frozenset({"id"}),
    )
    wanted = frozenset({"name", "size", "is_inline", "content_type"})

    assert kind.records([Sent("a"), Sent("bc")], wanted) == [
        Attachment(id="a", name="A", content_type=None, size=1, is_inline=True),
        Attachment(id="bc", name="BC", content_type=None, size=2, is_inline=True),
    ]
    assert kind.records([], wanted) == []


def test_what_is_not_wanted_or_is_given_is_not_read():
    kind = Columns(
        Participant,
        {"email": member("address"), "name": member("no_such_member")},
        always=frozenset({"email"}),
    )
    sent = [Sent("a"), Sent("b")]

    assert kind.records(sent, frozenset()) == [Participant(email="a"), Participant(email="b")]
    assert kind.records(sent, frozenset({"name"}), {"name": ["Ann", None]}) == [
        Participant(email="a", name="Ann"),
        Participant(email="b"),
    ]
