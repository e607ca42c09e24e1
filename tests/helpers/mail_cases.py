"""Messages, filters and drafts by which every mail connector is tried."""

from datetime import timedelta

from mail_upstreams import ALL, NOON, TEXT

from providers.ports.mail import Draft, Forward, Reply, SendAttempt
from providers.records.mail import Participant

BOB = Participant(email="bob@south.example", name="Bob Brown")

HOSTILE_IDS = ("", ".", "..", "../../x", "a/b?x=1", "a#f", "a%2Fb", "a b", "a\n", "é", "x" * 600)

FILTERS = {
    "a sender by the whole address": ({"sender": "ANN@north.example"}, ["plan", "lease"]),
    "a sender's address is whole or nothing": ({"sender": "nn@north.example"}, []),
    "a sender by a word of the name": ({"sender": "author"}, ["plan", "lease"]),
    "a sender by words": ({"sender": "Ann AUTHOR"}, ["plan", "lease"]),
    "a sender by the end of a word": ({"sender": "uthor"}, []),
    "a sender by the beginning of the address": ({"sender": "DESK@"}, ["news"]),
    "a sender by part of the address": ({"sender": "nn@nor"}, []),
    "a sender by part of the domain": ({"sender": "orth.exam"}, []),
    "a sender by domain": ({"sender": "@SOUTH.example"}, ["news"]),
    "a sender's domain is whole": ({"sender": "@outh.example"}, []),
    "a recipient in To": ({"recipient": "carl@east.example"}, ["plan"]),
    "a recipient in Cc": ({"recipient": "dora@west.example"}, ["lease"]),
    "a recipient by domain": ({"recipient": "@west.example"}, ["lease"]),
    "a recipient by a word of the name": ({"recipient": "DORA"}, ["lease"]),
    "a participant who sends": ({"participant": "ANN@north.example"}, ["plan", "lease"]),
    "a participant in To": ({"participant": "carl@east.example"}, ["plan"]),
    "a participant in Cc": ({"participant": "dora@west.example"}, ["lease"]),
    "a participant by domain": ({"participant": "@west.example"}, ["lease"]),
    "a recipient by the middle of the name": ({"recipient": "ORA D"}, []),
    "a word as the subject": ({"subject": "LEASE"}, ["lease"]),
    "the end of a word of the subject": ({"subject": "EASE"}, []),
    "words of the subject": ({"subject": "date for - the plan!"}, ["plan"]),
    "words of the subject in another order": ({"subject": "plan the"}, []),
    "a subject without words": ({"subject": "--"}, []),
    "a subject is no query": ({"subject": 'lease" OR subject:"plan'}, []),
    "a label in any case": ({"label": "client work"}, ["lease"]),
    "a label is whole": ({"label": "client"}, []),
    "an unknown label": ({"label": "nowhere"}, []),
    "unread": ({"unread": True}, ["news", "lease"]),
    "strictly after": ({"after": NOON + timedelta(seconds=10)}, ["news"]),
    "strictly before": ({"before": NOON + timedelta(seconds=10)}, ["lease"]),
    "with an attachment": ({"has_attachment": True}, ["plan"]),
    "without an attachment": ({"has_attachment": False}, ["news", "lease"]),
    "a sender is no query": ({"sender": "ann@north.example OR in:trash"}, []),
    "several at once": ({"sender": "@north.example", "unread": True}, ["lease"]),
    "a word of the body": ({"text": "marmalade", "text_fields": TEXT}, ["lease"]),
    "a word of the subject": ({"text": "PLAN", "text_fields": TEXT}, ["plan"]),
    "words in different places": ({"text": "marmalade lease", "text_fields": TEXT}, ["lease"]),
    "all words": ({"text": "marmalade plan", "text_fields": TEXT}, []),
    "a phrase": ({"text": '"for the plan"', "text_fields": TEXT}, ["plan"]),
    "a phrase in its order": ({"text": '"plan the for"', "text_fields": TEXT}, []),
    "a word of the sender": ({"text": "author", "text_fields": TEXT}, ["plan", "lease"]),
    "a word of a recipient": ({"text": "dora", "text_fields": TEXT}, ["lease"]),
    "operators are words": ({"text": "from:ann OR in:trash", "text_fields": TEXT}, []),
    "no word at all": ({"text": '"" -- !', "text_fields": TEXT}, []),
    "words and a filter": ({"text": "author", "text_fields": TEXT, "unread": True}, ["lease"]),
    "trash by its label": ({"label": "Trash"}, ["thrown away"]),
    "spam by its label": ({"label": "spam"}, ["junk"]),
    "drafts by their label": ({"label": "DRAFT"}, ["unfinished"]),
}

BEGINNINGS = {
    "of the last word of a sender": ({"sender": "Ann AUTH"}, ["plan", "lease"]),
    "of the name of a recipient": ({"recipient": "DORA D"}, ["lease"]),
    "of the last word of a subject": ({"subject": "for the pl"}, ["plan"]),
    "of the only word of a subject": ({"subject": "LEA"}, ["lease"]),
}

SHORT = {
    "The lease": "lease",
    "A date for the plan": "plan",
    "Hello": "news",
    "Gone": "thrown away",
    "Buy": "junk",
    "Begun": "unfinished",
}


def short(account, subject):
    return SHORT[subject]


HIDDEN = {
    "a hidden body": (TEXT - {"body", "body_preview"}, "marmalade"),
    "a hidden body behind its preview": (TEXT - {"body"}, "epilogue"),
    "a hidden sender": (TEXT - {"from_"}, "author"),
    "hidden recipients": (TEXT - {"to", "cc"}, "dora"),
    "everything but the subject": (frozenset({"subject"}), "marmalade"),
}

VISIBLE = {
    "the subject": (frozenset({"subject"}), "lease"),
    "the preview": (frozenset({"body_preview"}), "marmalade"),
    "the preview by the beginning of a word": (frozenset({"body_preview"}), "marm"),
    "the body": (frozenset({"body"}), "epilogue"),
    "the sender": (frozenset({"from_"}), "north"),
    "the sender by an address": (frozenset({"from_"}), "n@north"),
    "the copy": (frozenset({"cc"}), "dean"),
    "the copy by a phrase": (frozenset({"cc"}), '"dora dean"'),
}

PICTURED = {
    "a picture": ("🎉", ["Jam 🎉", "News 🎉"]),
    "a picture with a word": ("🎉 jam", ["Jam 🎉"]),
    "a picture in a phrase": ('"news 🎉"', ["News 🎉"]),
    "a picture that nobody sent": ("✨ jam", []),
}

SIEVES = {
    "a sender": {"sender": "ann@north.example"},
    "a recipient": {"recipient": "me@example.com"},
    "a participant": {"participant": "me@example.com"},
    "part of a name": {"sender": "author"},
    "a label": {"label": "client work"},
    "words of a body": {"text": "words", "text_fields": TEXT - {"cc"}},
    "words of a preview": {"text": "words", "text_fields": TEXT - {"body"}},
}


class Row:
    """
    What is committed of one intent, and the attempts that share it.

    Attributes:
        failure: Raised instead of storing.
    """

    def __init__(self):
        self.draft = None
        self.stored = []
        self.failure = None

    def attempt(self, message_id="one.1@gw.example", *, maybe_sent=False):
        return SendAttempt(
            message_id=message_id,
            maybe_sent=maybe_sent,
            draft_id=self.draft,
            store_draft=self.store,
        )

    async def store(self, draft_id):
        if self.failure is not None:
            raise self.failure
        self.draft = draft_id
        self.stored.append(draft_id)


def draft(attempt=None, **changes):
    written = {
        "to": (BOB,),
        "subject": "Plan",
        "body": "<p>See you.</p>",
        "attempt": attempt or SendAttempt(message_id="one.1@gw.example"),
    }
    return Draft(**(written | changes))


def reply(**changes):
    attempt = SendAttempt(message_id="re.1@gw.example")
    return Reply(**({"body": "<p>Fine.</p>", "attempt": attempt} | changes))


async def sent(account):
    (mail,) = account.stored(folder="sent")
    return mail, await account.port.get(mail.immutable_id, projection=ALL)


async def answer(account, name, action):
    if action == "reply":
        await account.port.reply(name, reply())
    else:
        forward = Forward(to=(BOB,), body="<p>Fine.</p>", attempt=reply().attempt)
        await account.port.forward(name, forward)


class RefusedRecipients(Exception):
    """The error of a check; not a failure of the provider."""


def refuse(people):
    raise RefusedRecipients([person.email for person in people])
