"""Records made column by column."""

from dataclasses import dataclass

from providers.columnar import RecordBuilder, attribute, computed, constant
from providers.records.mail import Attachment, Participant


@dataclass
class Sent:
    """A response of upstream without the members that must not be read."""

    address: str


def test_every_attribute_is_read_by_its_column():
    kind = RecordBuilder(
        Attachment,
        {
            "id": attribute("address"),
            "name": attribute("address", str.upper),
            "size": computed(lambda user: len(user.address)),
            "is_inline": constant(True),
        },
        always=frozenset({"id"}),
    )
    projection = frozenset({"name", "size", "is_inline", "content_type"})

    assert kind.records([Sent("a"), Sent("bc")], projection) == [
        Attachment(id="a", name="A", content_type=None, size=1, is_inline=True),
        Attachment(id="bc", name="BC", content_type=None, size=2, is_inline=True),
    ]
    assert kind.records([], projection) == []


def test_unwanted_and_overridden_attributes_are_not_read():
    kind = RecordBuilder(
        Participant,
        {"email": attribute("address"), "name": attribute("no_such_member")},
        always=frozenset({"email"}),
    )
    sent = [Sent("a"), Sent("b")]

    assert kind.records(sent, frozenset()) == [Participant(email="a"), Participant(email="b")]
    assert kind.records(sent, frozenset({"name"}), {"name": ["Ann", None]}) == [
        Participant(email="a", name="Ann"),
        Participant(email="b"),
    ]
