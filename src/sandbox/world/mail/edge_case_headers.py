"""
Mail with missing, repeated, very long, ambiguous or malformed headers.

Each function builds one mail; `HEADER_CASES` lists them, newest first. Their names seed ids and
times: renaming one changes the world.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import format_datetime

from sandbox.world.mail import mime_writer
from sandbox.world.mail.composer import message_id
from sandbox.world.mail.mime_writer import Header, Part

CREW = 300  # recipients of the largest mail


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeCase:
    """Recipient, received time and seed of an edge case; the seed decides its ids."""

    address: str
    at: datetime
    seed: str

    @property
    def date(self) -> str:
        """The Date header."""
        return format_datetime(self.at)

    @property
    def own_id(self) -> str:
        """The Message-ID, with angle brackets."""
        return f"<{message_id(self.address, self.seed, domain='mail.example')}>"

    def headers(self, sender: str, subject: str, *extra: Header) -> list[Header]:
        """Return the headers of an ordinary mail."""
        return [
            ("Date", self.date),
            ("From", sender),
            ("To", self.address),
            ("Message-ID", self.own_id),
            ("Subject", subject),
            *extra,
        ]


EdgeCaseBuilder = Callable[[EdgeCase], bytes]


def _no_ids(case: EdgeCase) -> bytes:
    """A fax machine that sends mail: no Message-ID, no Date, no MIME."""
    headers = [("From", "fax@copyshop.example"), ("To", case.address), ("Subject", "FAX 1 page")]
    return mime_writer.bare(headers, b"Fax received from +46 8 555 01 20.\r\nPage 1 of 1 OK.\r\n")


def _no_subject(case: EdgeCase) -> bytes:
    headers = [
        header
        for header in case.headers("oskar@harbourlight.example", "")
        if header[0] != "Subject"
    ]
    return mime_writer.mail(
        headers, mime_writer.text("Can somebody lift the winch with me at two?")
    )


def _empty_subject(case: EdgeCase) -> bytes:
    headers = case.headers("Elin Lindqvist <elin.lindqvist@postlada.example>", "")
    return mime_writer.mail(
        headers, mime_writer.text("Ring mig när du hinner. Inget allvarligt. /E")
    )


def _clock_behind(case: EdgeCase) -> bytes:
    """The sender's computer believes that it is 1999."""
    headers = case.headers("Pier Museum <desk@pier-museum.example>", "Opening hours of the archive")
    headers[0] = ("Date", "Fri, 31 Dec 1999 23:59:58 -0000")
    return mime_writer.mail(
        headers, mime_writer.text("The archive is open on Tuesdays, by appointment.")
    )


def _clock_ahead(case: EdgeCase) -> bytes:
    headers = case.headers("Tide Clock <clock@tide.example>", "Your tide table for next season")
    headers[0] = ("Date", "Tue, 19 Jan 2038 03:14:07 GMT")
    return mime_writer.mail(headers, mime_writer.text("High water is later than you think."))


def _broken_date(case: EdgeCase) -> bytes:
    headers = case.headers("Kiosk <kiosk@jetty.example>", "Coffee tokens")
    headers[0] = ("Date", "yesterday, after lunch")
    return mime_writer.mail(headers, mime_writer.text("Your twelve tokens are ready."))


def _several_to(case: EdgeCase) -> bytes:
    headers = case.headers("Harbour Festival <office@harbour-festival.example>", "Parade of boats")
    headers.insert(3, ("To", '"Crew, first boat" <first@harbour-festival.example>'))
    headers.insert(4, ("to", "second@harbour-festival.example (second boat)"))
    return mime_writer.mail(headers, mime_writer.text("Please be at the lock by nine, with flags."))


def _group_address(case: EdgeCase) -> bytes:
    headers = case.headers("astrid@harbourlight.example", "Sail loft: who has the long ruler?")
    group = (
        f"Sail loft: {case.address}, oskar@harbourlight.example, Elif <elif@harbourlight.example>;"
    )
    headers[2] = ("To", group)
    return mime_writer.mail(headers, mime_writer.text("Four metres, brass, answers to no name."))


def _undisclosed(case: EdgeCase) -> bytes:
    headers = case.headers(
        mime_writer.mailbox("Hamnkören", "hamnkoren@hamnkoren.example"), "Concert"
    )
    headers[2] = ("To", "undisclosed-recipients:;")
    return mime_writer.mail(
        headers, mime_writer.text("Three songs about boats, one about potatoes.")
    )


def _reply_to_list(case: EdgeCase) -> bytes:
    replies = "Box office <tickets@theatre-ship.example>, stage@theatre-ship.example"
    headers = case.headers(
        "No Reply <noreply@theatre-ship.example>",
        "Your box for Saturday",
        ("Reply-To", replies),
        ("Sender", "mailer@bulk.example"),
    )
    return mime_writer.mail(headers, mime_writer.text("Answer to this mail to change your seats."))


def _important(case: EdgeCase) -> bytes:
    extra = (("Importance", "High"), ("X-Priority", "1 (Highest)"), ("Priority", "urgent"))
    headers = case.headers("Alarm <alarm@shed-watch.example>", "Shed 3: door open", *extra)
    return mime_writer.mail(headers, mime_writer.text("South door open for more than ten minutes."))


def _unimportant(case: EdgeCase) -> bytes:
    extra = (("Importance", "low"),)
    headers = case.headers("henrik@harbourlight-studio.example", "A very good bench", *extra)
    return mime_writer.mail(
        headers, mime_writer.text("No need to read this. I saw a very good bench.")
    )


def _only_x_priority(case: EdgeCase) -> bytes:
    headers = case.headers(
        "Plotter <plotter@harbourlight.example>", "Paper low", ("X-Priority", "5")
    )
    return mime_writer.mail(headers, mime_writer.text("Roll 2: 4 m left."))


def _everybody(case: EdgeCase) -> bytes:
    """A member of a sailing club who does not know Bcc."""
    crew = (f'"Member {n:03}, Bay Club" <member{n:03}@bay-club.example>' for n in range(CREW - 1))
    headers = case.headers(
        "Commodore <commodore@bay-club.example>", "Season opening: please all read"
    )
    headers[2] = ("To", mime_writer.mailboxes([case.address, *crew]))
    return mime_writer.mail(
        headers, mime_writer.text("Dear members, the season opens at ten. No cannons.")
    )


def _many_copies(case: EdgeCase) -> bytes:
    headers = case.headers("commodore@bay-club.example", "Re: Season opening: please all read")
    crew = [f"member{n:03}@bay-club.example" for n in range(120)]
    headers.insert(3, ("Cc", mime_writer.mailboxes(crew)))
    return mime_writer.mail(
        headers, mime_writer.text("And please do not answer to all. Thank you all.")
    )


def _long_subject(case: EdgeCase) -> bytes:
    subject = "Minutes of the annual meeting of the society of friends of the old slipway, " * 9
    headers = case.headers("Society <minutes@old-slipway.example>", subject.strip(" ,"))
    return mime_writer.mail(headers, mime_writer.text("The minutes are longer than the subject."))


def _long_encoded_subject(case: EdgeCase) -> bytes:
    subject = "Größenänderung der Überdachung für die Fähranlegestelle „Süd“ – bitte prüfen 🛥️ " * 3
    headers = case.headers(
        mime_writer.mailbox("Bürgerbüro Süd", "buergerbuero@sued.example", form="Q"),
        mime_writer.words(subject.strip(), form="Q"),
    )
    return mime_writer.mail(headers, mime_writer.text("Bitte prüfen Sie die Maße bis Freitag."))


def _raw_utf8_headers(case: EdgeCase) -> bytes:
    """Bytes in headers that nobody encoded; many readers take them for UTF-8."""
    headers = case.headers("", "")
    headers[1] = ("From", "Café Brygga <kaffe@brygga.example>".encode())
    headers[4] = ("Subject", "Semlor på fredag".encode())
    return mime_writer.mail(headers, mime_writer.text("Fem kronor styck, så länge de räcker."))


def _raw_latin1_headers(case: EdgeCase) -> bytes:
    headers = case.headers("", "")
    headers[1] = ("From", "Bäckerei Möwe <moewe@baeckerei.example>".encode("latin-1"))
    headers[4] = ("Subject", "Brötchen für die Spätschicht".encode("latin-1"))
    body = mime_writer.text("Wie immer um fünf.", charset="iso-8859-1", transfer="8bit")
    return mime_writer.mail(headers, body)


def _looks_encoded(case: EdgeCase) -> bytes:
    """Text about encoded words, not an encoded word."""
    headers = case.headers("tips@mail-lore.example", "What does =?utf-8?Q? mean, and =?x mean?")
    return mime_writer.mail(headers, mime_writer.text("It is how letters travel in seven bits."))


def _looks_like_search(case: EdgeCase) -> bytes:
    headers = case.headers(
        "quiz@pub.example", 'Quiz: "left" OR in:trash {port from:starboard} -lee'
    )
    return mime_writer.mail(headers, mime_writer.text("Question 7 is about quotation marks."))


def _looks_like_html(case: EdgeCase) -> bytes:
    headers = case.headers(
        '"<b>Ada & Sons</b>" <ada@sons.example>', "5 < 6 && <script>boats</script>"
    )
    return mime_writer.mail(
        headers, mime_writer.text("<p>This is plain text & not markup.</p> &amp; so on")
    )


def _exotic_addresses(case: EdgeCase) -> bytes:
    headers = case.headers(
        '"O\\"Neill, Pat \\\\ Co" (the elder (of two)) <pat."odd name"@co.example>', "Addresses"
    )
    headers.insert(3, ("Cc", "root@[192.0.2.7], nobody@mail.example, <>, jörg@bücher.example"))
    return mime_writer.mail(headers, mime_writer.text("All of these are addresses, in a way."))


def _directory_name(case: EdgeCase) -> bytes:
    """An internal sender of an old groupware, whose address is a directory name."""
    sender = '"Rask, Wille" </O=EXCHANGELABS/OU=HARBOUR/CN=RECIPIENTS/CN=WILLE.RASK>'
    headers = case.headers(sender, "Migration of the old address book")
    return mime_writer.mail(headers, mime_writer.text("My address looks strange until Monday."))


def _no_sender(case: EdgeCase) -> bytes:
    headers = [header for header in case.headers("", "Delivery report") if header[0] != "From"]
    return mime_writer.mail(headers, mime_writer.text("A report without a sender."))


def _two_senders(case: EdgeCase) -> bytes:
    pair = "Siri <siri@twin-yard.example>, Tove <tove@twin-yard.example>"
    headers = case.headers(pair, "From both of us", ("Sender", "siri@twin-yard.example"))
    return mime_writer.mail(headers, mime_writer.text("We write together, it saves a stamp."))


def _lost_references(case: EdgeCase) -> bytes:
    """An answer to a thread that this mailbox never saw."""
    unknown = (f"<{message_id('lost', n, domain='elsewhere.example')}>" for n in range(40))
    headers = case.headers("rui@cortica-carvalho.example", "Re: Re: Fwd: containers")
    headers += [
        ("In-Reply-To", "Your message of Monday <not-an-id> (somewhere)"),
        ("References", "\r\n\t".join(unknown)),
    ]
    return mime_writer.mail(
        headers, mime_writer.text("I think that this one was meant for somebody else.")
    )


def _bidirectional(case: EdgeCase) -> bytes:
    subject = (
        "Price list \u202e\u05d2\u05d1\u05d0 2026\u202c, \u200bzero\u200bwidth, e\u0301te\u0301"
    )
    headers = case.headers("list@levant-supplies.example", mime_writer.words(subject))
    return mime_writer.mail(
        headers, mime_writer.text("השרטוט מצורף — انظر المرفق — see attachment.")
    )


def _emoji_family(case: EdgeCase) -> bytes:
    subject = "👩‍👩‍👧‍👦 Sommarlunch på bryggan 🐟🥔🌞 kl 12"
    headers = case.headers(
        "Elin Lindqvist <elin.lindqvist@postlada.example>", mime_writer.words(subject)
    )
    return mime_writer.mail(headers, mime_writer.text("Ta med en stol 🪑 och en aptit. 🏴‍☠️"))


def _feed_lines(case: EdgeCase) -> bytes:
    """A script that ends its lines the Unix way, folds with tabs and adds trailing spaces."""
    raw = mime_writer.mail(
        case.headers("backup@harbourlight.example", "Backup finished:\r\n\tnothing to do  "),
        mime_writer.text("0 files copied.\n\n.\nFrom here on all is well.\n", transfer="7bit"),
    )
    return raw.replace(b"\r\n", b"\n")


def _through_a_list(case: EdgeCase) -> bytes:
    extra: tuple[Header, ...] = (
        ("List-Id", "Clinker builders <clinker.lists.example>"),
        ("List-Post", "<mailto:clinker@lists.example>"),
        ("Reply-To", "clinker@lists.example"),
        ("X-Loop", "clinker"),
    )
    headers = case.headers('"Ned via Clinker" <clinker@lists.example>', "[clinker] Roves", *extra)
    headers[2] = ("To", "clinker@lists.example")
    body = mime_writer.text(
        "Copper or brass? I start.\n\n___\nclinker mailing list\n", transfer="7bit"
    )
    return mime_writer.mail(headers, body)


def _traced(case: EdgeCase) -> bytes:
    """A mail with a long way behind it, and a signature header of eleven lines."""
    hops: list[Header] = [
        (
            "Received",
            (
                f"from hop{n}.relay.example (hop{n}.relay.example [198.51.100.{n}])\r\n"
                f"\tby hop{n + 1}.relay.example with ESMTP id {n:08X};\r\n"
                f"\t{format_datetime(case.at - timedelta(seconds=n * 7))}"
            ),
        )
        for n in range(1, 15)
    ]
    signature = "\r\n\t".join(f"b{n}{'x7Kq' * 17}" for n in range(11))
    hops.append(("DKIM-Signature", f"v=1; a=rsa-sha256; d=relay.example;\r\n\tb={signature}"))
    headers = [*hops, *case.headers("postmaster@relay.example", "Fourteen hops")]
    return mime_writer.mail(headers, mime_writer.text("It took the scenic route."))


def _upper_case(case: EdgeCase) -> bytes:
    headers: list[Header] = [
        (name.upper(), value) for name, value in case.headers("TELEX@SHIPS.EXAMPLE", "ETA 0600Z")
    ]
    part = Part((("CONTENT-TYPE", "TEXT/PLAIN; CHARSET=US-ASCII"),), b"ETA 0600Z STOP\r\n")
    return mime_writer.mail(headers, part)


HEADER_CASES: tuple[EdgeCaseBuilder, ...] = (
    _no_ids,
    _no_subject,
    _empty_subject,
    _clock_behind,
    _clock_ahead,
    _broken_date,
    _several_to,
    _group_address,
    _undisclosed,
    _reply_to_list,
    _important,
    _unimportant,
    _only_x_priority,
    _everybody,
    _many_copies,
    _long_subject,
    _long_encoded_subject,
    _raw_utf8_headers,
    _raw_latin1_headers,
    _looks_encoded,
    _looks_like_search,
    _looks_like_html,
    _exotic_addresses,
    _directory_name,
    _no_sender,
    _two_senders,
    _lost_references,
    _bidirectional,
    _emoji_family,
    _feed_lines,
    _through_a_list,
    _traced,
    _upper_case,
)
