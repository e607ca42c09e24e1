"""
Forms of header fields as senders write them, each with the value that it has.

A form is written by a function of `Random`; its name says what is odd about it.
"""

import base64
import quopri
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import NamedTuple


class Field(NamedTuple):
    """
    A field as it is written.

    Attributes:
        raw: Its body, perhaps folded.
        value: What it means.
        form: What is odd about it.
    """

    raw: bytes
    value: object
    form: str


# Label, Python's codec of the bytes, words that the charset has. Labels mean what the Encoding
# Standard says: iso-8859-1 is windows-1252, gb2312 is gbk, shift_jis is windows-31j.
CHARSETS = (
    ("utf-8", "utf-8", "Größe żółć 会議 😀"),
    ("UTF-8", "utf-8", "naïve — “quoted”"),
    ("iso-8859-1", "cp1252", "it’s € 12 café"),
    ("ISO-8859-15", "iso8859-15", "prix 12 € cœur"),
    ("windows-1252", "cp1252", "Ünïcödé – dash"),
    ("iso-8859-2", "iso8859-2", "Zażółć gęślą jaźń"),
    ("windows-1250", "cp1250", "Příliš žluťoučký"),
    ("koi8-r", "koi8-r", "Привет, мир"),
    ("windows-1251", "cp1251", "Счёт № 5"),
    ("iso-8859-5", "iso8859-5", "Москва"),
    ("iso-8859-7", "iso8859-7", "Καλημέρα"),
    ("iso-8859-8-i", "iso8859-8", "בוקר טוב"),
    ("windows-1255", "cp1255", "שלום"),
    ("windows-1256", "cp1256", "مرحبا"),
    ("iso-8859-9", "cp1254", "İstanbul ığüş"),
    ("windows-874", "cp874", "สวัสดี"),
    ("tis-620", "cp874", "ราคา"),
    ("gb2312", "gbk", "朱镕基访问陶喆"),
    ("gb18030", "gb18030", "数据 €"),
    ("big5", "big5", "會議資料"),
    ("shift_jis", "cp932", "髙橋①様"),
    ("iso-2022-jp", "iso2022_jp", "会議の資料"),
    ("euc-jp", "euc_jp", "請求書です"),
    ("ks_c_5601-1987", "cp949", "똠방각하 회의"),
    ("euc-kr", "euc_kr", "안녕하세요"),
    ("us-ascii", "ascii", "plain words"),
)
WORDS = ("Invoice", "meeting", "notes", "lease", "Ana", "O'Neil", "2026", "re-open", "x_y", "100%")


def text(chance: Random, count: int = 3) -> str:
    """Return some words of ASCII."""
    return " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, count)))


def word(label: str, content: bytes, encoding: str) -> str:
    """Return an encoded word."""
    if encoding in "bB":
        return f"=?{label}?{encoding}?{base64.b64encode(content).decode()}?="
    safe = quopri.encodestring(content, quotetabs=True).decode().replace("=\n", "")
    for sign in "?()<>@,;:\"[]._/'":
        safe = safe.replace(sign, f"={ord(sign):02X}")
    return f"=?{label}?{encoding}?{safe.replace('=20', '_').replace(' ', '_')}?="


def _encoded(chance: Random) -> tuple[str, str, str]:
    """Return an encoded word, its text, and its charset."""
    label, codec, value = chance.choice(CHARSETS)
    return word(label, value.encode(codec), chance.choice("bBqQ")), value, label


# -- addresses


def _address(chance: Random) -> str:
    local = chance.choice(("ana", "j.doe", "x+tag", "o'neil", "a_b-c", "1234"))
    return f"{local}@{chance.choice(('a.example', 'mail.b.example', 'xn--exmple-cua.example'))}"


def _named(address: str, name: str | None) -> list[list[str | None]]:
    return [[address, name]]


def _named_by_word(chance: Random) -> Field:
    encoded, value, label = _encoded(chance)
    address = _address(chance)
    return Field(f"{encoded} <{address}>".encode(), _named(address, value), f"word {label}")


def _word_in_quotes(chance: Random) -> Field:
    value, address = "Jörg, M", _address(chance)
    encoded = word("utf-8", value.encode(), chance.choice("bq"))
    return Field(f'"{encoded}" <{address}>'.encode(), _named(address, value), "quoted word")


def _word_with_comma(chance: Random) -> Field:
    value, address = "Müller, Jörg (Büro) <x>", _address(chance)
    encoded = word("utf-8", value.encode(), chance.choice("bq"))
    return Field(f"{encoded} <{address}>".encode(), _named(address, value), "signs in a word")


def _group(chance: Random) -> Field:
    first, second = _address(chance), _address(chance)
    raw = f"Team {text(chance, 1)}: {first}, Bo <{second}>;"
    return Field(raw.encode(), [[first, None], [second, "Bo"]], "group")


def _group_and_more(chance: Random) -> Field:
    first, second = _address(chance), _address(chance)
    raw = f"Team: {first};, Bo <{second}>"
    return Field(raw.encode(), [[first, None], [second, "Bo"]], "group and another")


def _list(chance: Random) -> Field:
    mailboxes = [_address(chance) for _ in range(chance.randint(2, 6))]
    blank = chance.choice((", ", ",", ",\r\n ", " ,\r\n\t"))
    return Field(blank.join(mailboxes).encode(), [[one, None] for one in mailboxes], "list")


def _semicolons(chance: Random) -> Field:
    mailboxes = [_address(chance) for _ in range(chance.randint(2, 4))]
    return Field("; ".join(mailboxes).encode(), [[one, None] for one in mailboxes], "semicolons")


def _simple(form: str, pattern: str, name: str | None) -> Callable[[Random], Field]:
    """Return the writer of a mailbox; {} stands for the address."""

    def write(chance: Random) -> Field:
        address = _address(chance)
        return Field(pattern.replace("{}", address).encode(), _named(address, name), form)

    return write


def _fixed(form: str, raw: str | bytes, value: object) -> Callable[[Random], Field]:
    content = raw if isinstance(raw, bytes) else raw.encode()
    return lambda chance: Field(content, value, form)


ADDRESSES: tuple[Callable[[Random], Field], ...] = (
    _simple("plain", "{}", None),
    _simple("brackets", "<{}>", None),
    _simple("name", "Ana Lima <{}>", "Ana Lima"),
    _simple("no blank", "Ana<{}>", "Ana"),
    _simple("quoted", '"Ana Lima" <{}>', "Ana Lima"),
    _simple("quoted comma", '"Lima, Ana" <{}>', "Lima, Ana"),
    _simple("escaped", r'"Dr\", \\ Watson" <{}>', 'Dr", \\ Watson'),
    _simple("dots in a name", "J. R. Doe <{}>", "J. R. Doe"),
    _simple("comma in a name", "Doe, John <{}>", "Doe, John"),
    _simple("comment behind", "{} (Ana Lima)", "Ana Lima"),
    _simple("nested comment", "{} (Ana (home) Lima)", "Ana (home) Lima"),
    _simple("comment and name", "Ana (home) <{}>", "Ana"),
    _simple("comment in brackets", "Ana <{} (home)>", "Ana"),
    _simple("escaped comment", r"{} (Ana \(home)", "Ana (home"),
    _simple("address as a name", "ceo@bank.example <{}>", "ceo@bank.example"),
    _simple("quoted address as a name", '"ceo@bank.example" <{}>', "ceo@bank.example"),
    _simple("route", "Ana <@relay.example,@b.example:{}>", "Ana"),
    _simple("folded", "Ana\r\n Lima\r\n\t<{}>", "Ana Lima"),
    _simple("blanks in brackets", "Ana < {} >", "Ana"),
    _simple("raw UTF-8", "Jörg Żółć <{}>", "Jörg Żółć"),
    _simple("quoted UTF-8", '"Jörg, Ż" <{}>', "Jörg, Ż"),
    _simple("apostrophes", "'Ana' <{}>", "'Ana'"),
    _simple("two quoted", '"Ana" "Lima" <{}>', "Ana Lima"),
    _simple("brackets twice", "Ana <<{}>>", "Ana"),
    _simple("no closing bracket", "Ana <{}", "Ana"),
    _simple("quotation mark left open", 'Ana "Lima <{}>', "Ana Lima"),
    _simple("comment left open", "Ana (home <{}>", "Ana (home"),
    _simple("empty name", '"" <{}>', None),
    _simple("scheme", "Ana <mailto:{}>", "Ana"),
    _simple("empty entries", ", , {},,", None),
    _simple("long name", f"{'Ana ' * 60}<{{}}>", ("Ana " * 60).strip()),
    _simple("tab", "Ana\tLima\t<{}>", "Ana Lima"),
    _simple("colon in a name", "Re: Ana <{}>", "Re: Ana"),
    _simple("brackets in a name", "Ana [home] <{}>", "Ana [home]"),
    _fixed("blanks at the sign", "ana @ a.example", [["ana@a.example", None]]),
    _fixed("quoted local part", '"a b"@a.example', [['"a b"@a.example', None]]),
    _fixed("quoted at", 'Ana <"x@y"@a.example>', [['"x@y"@a.example', "Ana"]]),
    _fixed("domain literal", "ana@[192.0.2.1]", [["ana@[192.0.2.1]", None]]),
    _fixed("UTF-8 address", "Jörg <jörg@exämple.example>", [["jörg@exämple.example", "Jörg"]]),
    _fixed("nobody", "undisclosed-recipients:;", []),
    _fixed("empty group", "Team: ;", []),
    _fixed("empty", "", []),
    _fixed("no address", "Ana Lima", []),
    _fixed("empty brackets", "Ana <>", []),
    _fixed(
        "mailbox in a word",
        word("utf-8", "Jörg <jorg@a.example>".encode(), "b"),
        [["jorg@a.example", "Jörg"]],
    ),
    _fixed(
        "two words",
        f"{word('utf-8', 'Kr'.encode(), 'q')}\r\n {word('utf-8', 'ön'.encode(), 'b')} <a@a.example>",
        [["a@a.example", "Krön"]],
    ),
    _named_by_word,
    _named_by_word,
    _named_by_word,
    _word_in_quotes,
    _word_with_comma,
    _group,
    _group_and_more,
    _list,
    _list,
    _semicolons,
)


# -- subjects


def _subject_words(chance: Random) -> Field:
    encoded, value, label = _encoded(chance)
    return Field(encoded.encode(), value, f"word {label}")


def _subject_mixed(chance: Random) -> Field:
    encoded, value, label = _encoded(chance)
    before, behind = text(chance), text(chance)
    raw = f"{before} {encoded}\r\n {behind}"
    return Field(raw.encode(), f"{before} {value} {behind}", f"mixed {label}")


def _subject_of_two(chance: Random) -> Field:
    first, one, label = _encoded(chance)
    second, two, other = _encoded(chance)
    blank = chance.choice((" ", "\r\n ", "\r\n\t", "  "))
    return Field(f"{first}{blank}{second}".encode(), one + two, f"two {label} {other}")


def _subject_split(chance: Random) -> Field:
    label, codec, value = chance.choice([row for row in CHARSETS if row[1] != "iso2022_jp"])
    content = value.encode(codec)
    place = chance.randint(1, len(content) - 1)
    encodings = chance.choice(("bb", "qq"))
    words = [word(label, content[:place], encodings[0]), word(label, content[place:], encodings[1])]
    return Field("\r\n ".join(words).encode(), value, f"split {label}")


def _subject_with_language(chance: Random) -> Field:
    encoded = word("utf-8*de", "Größe".encode(), chance.choice("bq"))
    return Field(encoded.encode(), "Größe", "language")


def _subject_plain(chance: Random) -> Field:
    value = text(chance, 12)
    return Field(value.encode(), value, "plain")


def _subject_folded(chance: Random) -> Field:
    words = [text(chance) for _ in range(4)]
    return Field("\r\n ".join(words).encode(), " ".join(words), "folded")


def _subject_raw(chance: Random) -> Field:
    label, codec, value = chance.choice(CHARSETS[:2])
    return Field(value.encode(codec), value, "raw UTF-8")


_PLAIN_WORD = "=?utf-8?q?b=C3=A4r?="
SUBJECTS: tuple[Callable[[Random], Field], ...] = (
    _subject_plain,
    _subject_folded,
    _subject_words,
    _subject_words,
    _subject_mixed,
    _subject_of_two,
    _subject_split,
    _subject_with_language,
    _subject_raw,
    _fixed("unknown charset", f"=?x-nobody?q?=E4?= {_PLAIN_WORD}", "=?x-nobody?q?=E4?= bär"),
    _fixed("word within a word", f"abc{_PLAIN_WORD}def", "abcbärdef"),
    _fixed("blanks in a Q word", "=?utf-8?q?Gr=C3=B6=C3=9Fe und mehr?=", "Größe und mehr"),
    _fixed("question mark in a Q word", "=?utf-8?q?wann?ja?=", "wann?ja"),
    _fixed("no padding", "=?utf-8?b?R3LDtsOfZQ?=", "Größe"),
    _fixed("blank in base64", "=?utf-8?b?R3LD tsOfZQ==?=", "Größe"),
    _fixed("base64 cut within a sign", "=?utf-8?b?R3LDt?= =?utf-8?b?sOfZQ==?=", "Größe"),
    _fixed("empty word", f"a =?utf-8?q??= {_PLAIN_WORD}", "a bär"),
    _fixed("unknown encoding", "=?utf-8?x?abc?=", "=?utf-8?x?abc?="),
    _fixed("not closed", "=?utf-8?q?abc", "=?utf-8?q?abc"),
    _fixed("empty", "", ""),
    _fixed("form feed", "Invoice\x0cFrom: ceo@bank.example", "Invoice\x0cFrom: ceo@bank.example"),
    _fixed("line separator", "one\u2028two\u0085three", "one\u2028two\u0085three"),
    _fixed("value on the next line", "\r\n Value below", "Value below"),
    _fixed("tabs", "a\tb", "a\tb"),
    _fixed("quotation", 'a "quoted" (comment) <x>', 'a "quoted" (comment) <x>'),
    _fixed("long", "lorem ipsum " * 80 + "end", "lorem ipsum " * 80 + "end"),
    _fixed(
        "each word of ISO-2022-JP",
        "=?iso-2022-jp?B?GyRCMnE1RBsoQg==?=\r\n =?iso-2022-jp?B?GyRCOzIbKEI=?=",
        "会議参",
    ),
)


# -- dates

_FIRST = datetime(1990, 1, 1, tzinfo=UTC)
_ZONES = (
    ("+0000", 0),
    ("-0000", 0),
    ("+0200", 120),
    ("-0330", -210),
    ("+1345", 825),
    ("-1200", -720),
)
_ZONE_NAMES = (("GMT", 0), ("UT", 0), ("EST", -300), ("EDT", -240), ("PST", -480), ("PDT", -420))
# Form, pattern of strftime with {zone}, zones.
_DATE_PATTERNS = (
    ("usual", "%a, %d %b %Y %H:%M:%S {zone}", _ZONES),
    ("no weekday", "%d %b %Y %H:%M:%S {zone}", _ZONES),
    ("comment", "%a, %d %b %Y %H:%M:%S {zone} (local (odd) time)", _ZONES),
    ("zone name", "%a, %d %b %Y %H:%M:%S {zone}", _ZONE_NAMES),
    ("folded", "%a,\r\n %d %b %Y\r\n %H:%M:%S {zone}", _ZONES),
    ("comments between", "%a, %d (day) %b %Y (year) %H:%M:%S {zone}", _ZONES),
    ("colon in the zone", "%a, %d %b %Y %H:%M:%S {zone}", (("+02:00", 120), ("-05:30", -330))),
    ("offset behind GMT", "%a, %d %b %Y %H:%M:%S {zone}", (("GMT+0200", 120), ("GMT+2", 120))),
    ("zone and name", "%a, %d %b %Y %H:%M:%S {zone}", (("+0100 CET", 60), ("-0500 EST", -300))),
    ("ISO 8601", "%Y-%m-%dT%H:%M:%S{zone}", (("Z", 0), ("+02:00", 120), ("-0330", -210))),
    ("asctime", "%a %b %d %H:%M:%S %Y{zone}", (("", 0),)),
    ("RFC 850", "%A, %d-%b-%y %H:%M:%S {zone}", (("GMT", 0),)),
    ("JavaScript", "%a %b %d %Y %H:%M:%S {zone}", (("GMT+0200 (CEST)", 120),)),
    ("12 hours", "%a, %d %b %Y %I:%M:%S %p {zone}", _ZONES),
    ("no zone", "%a, %d %b %Y %H:%M:%S{zone}", (("", 0),)),
    ("two digits of a year", "%a, %d %b %y %H:%M:%S {zone}", _ZONES),
    ("upper case", "%a, %d %b %Y %H:%M:%S {zone}", _ZONES),
    ("full month", "%d %B %Y %H:%M:%S {zone}", _ZONES),
    ("blanks", "%a,  %d  %b  %Y  %H:%M:%S   {zone}", _ZONES),
)
_NO_DATES = ("", "yesterday", "8/6/2026", "Mon, 32 Jan 2026 10:00:00 +0000", "0", "25:61")


def date(chance: Random) -> Field:
    """Write a date; its value is seconds since 1970, None for what is no date."""
    if not chance.randrange(20):
        return Field(chance.choice(_NO_DATES).encode(), None, "no date")
    if not chance.randrange(40):
        leap = datetime(2017, 1, 1, tzinfo=UTC)
        return Field(b"Sat, 31 Dec 2016 23:59:60 +0000", leap.timestamp(), "leap second")
    form, pattern, zones = chance.choice(_DATE_PATTERNS)
    zone, minutes = chance.choice(zones)
    moment = _FIRST + timedelta(seconds=chance.randrange(50 * 365 * 86400))
    raw = moment.strftime(pattern).replace("{zone}", zone)
    raw = raw.upper() if form == "upper case" else raw
    return Field(raw.encode(), (moment - timedelta(minutes=minutes)).timestamp(), form)


# -- references


def references(chance: Random) -> Field:
    """Write References; its value is the identifiers without brackets."""
    names = ("abc.1", "x$y", "20261120", "a=b", "a/b", "")
    ids = [f"{chance.choice(names)}{n}@id.example" for n in range(chance.randint(1, 8))]
    form, pattern, blank = chance.choice(
        (
            ("usual", "<{}>", " "),
            ("folded", "<{}>", "\r\n "),
            ("folded by tabs", "<{}>", "\r\n\t"),
            ("no blanks", "<{}>", ""),
            ("commas", "<{}>", ", "),
        )
    )
    return Field(blank.join(pattern.format(one) for one in ids).encode(), ids, form)
