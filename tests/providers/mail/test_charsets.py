"""Labels of charsets, and texts that contradict theirs: docs/spec/email.md#charsets."""

import pytest

from providers.mail import charsets

# The bytes are those of the codec that the Encoding Standard names for the label.
LABELS = [
    ("gb2312", "朱镕基", "gb18030"),
    ("GB_2312-80", "镕", "gb18030"),
    ("x-gbk", "喆", "gb18030"),
    ("iso-8859-1", "it’s €", "cp1252"),
    ("latin1", "“a”", "cp1252"),
    ("us-ascii", "it’s", "cp1252"),
    ("iso-8859-9", "ş…", "cp1254"),
    ("iso-8859-11", "ไทย…", "cp874"),
    ("windows-874", "ไทย", "cp874"),
    ("TIS-620", "ไ€", "cp874"),
    ("shift_jis", "髙橋①", "cp932"),
    ("x-sjis", "髙", "cp932"),
    ("windows-31j", "①", "cp932"),
    ("ks_c_5601-1987", "똠방", "cp949"),
    ("euc-kr", "펲", "cp949"),
    ("windows-949", "똠", "cp949"),
    ("big5", "碁€", "cp950"),
    ("big5", "\u00ca\u0304", "big5hkscs"),
    ("iso-8859-8-i", "בוקר טוב", "iso8859-8"),
    ("iso-8859-8-e", "בוקר", "iso8859-8"),
    ("iso-8859-6-i", "مرحبا", "iso8859-6"),
    ("logical", "בוקר", "iso8859-8"),
    ("koi8-ru", "Ґ", "koi8-u"),
    ("x-mac-cyrillic", "Привет", "mac-cyrillic"),
    ("x-cp1251", "Привет", "cp1251"),
    ("win-1251", "Привет", "cp1251"),
    ("cp-1250", "Zażółć", "cp1250"),
    ("iso88592", "Zażółć", "iso8859-2"),
    ("'iso-8859-2'", "Zażółć", "iso8859-2"),
    ("utf-16", "Zażółć", "utf-16"),
    ("unicode-1-1-utf-7", "Zażółć", "utf-7"),
    ("iso-2022-kr", "안녕", "iso2022_kr"),
    ("hz-gb-2312", "你好", "hz"),
    ("euc-jp", "日本", "euc_jp"),
    ("x-euc-jp", "ﾃｽﾄ", "euc_jp"),
    ("iso-2022-jp", "会議", "iso2022_jp"),
]


@pytest.mark.parametrize(("label", "text", "codec"), LABELS)
def test_a_label_means_what_the_encoding_standard_says(label, text, codec):
    assert charsets.decode_or_utf8(text.encode(codec), label) == text


@pytest.mark.parametrize(
    ("label", "content", "text"),
    [
        ("iso-2022-jp", b'\x1b$B-!-"-j\x1b(B OK', "①②㈱ OK"),
        ("iso-2022-jp", b"\x1b$B|q\x1b(B", "ⅰ"),
        ("iso-2022-jp", b"\x1b(I6@6E\x1b(B", "ｶﾀｶﾅ"),
        ("iso-2022-jp", b"\x1b$B$3\r\nabc", "こ\r\nabc"),
        ("iso-2022-jp", b"\x1b$B$", "\ufffd"),
        ("euc-jp", b"\xad\xa1\xad\xea", "①㈱"),
        (None, b"\x1b$B$3\x1b(B", "こ"),
        ("us-ascii", b"\x1b$B$3\x1b(B", "こ"),
        ("iso-8859-1", "Dzień — ja".encode(), "Dzień — ja"),
        ("windows-1251", "Привет".encode(), "Привет"),
        ("gb2312", "朱镕基x".encode(), "朱镕基x"),
        ("gb2312", "联通".encode("gbk"), "联通"),
        (None, "é".encode("latin-1"), "\ufffd"),
        ("x-unknown", "é".encode(), "é"),
        ("rot13", b"abc", "abc"),
        ("utf-8", b"\xef\xbb\xbfabc", "abc"),
        ("iso-8859-1", b"\xff\xfea\x00", "a"),
        ("utf-16le", b"\xff\xfea\x00", "a"),
        ("utf-16", "Dzień".encode(), "Dzień"),
        ("utf-7", b"+2AA-", "\ufffd"),
    ],
)
def test_a_text_that_contradicts_its_label_is_read_by_its_bytes(label, content, text):
    assert charsets.decode_or_utf8(content, label) == text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (b'<meta charset="windows-1251">\xcf', '<meta charset="windows-1251">П'),
        (b"<meta charset=koi8-r />\xf0", "<meta charset=koi8-r />П"),
        (
            b'<meta http-equiv=Content-Type content="text/html; charset=iso-8859-2">\xb3',
            '<meta http-equiv=Content-Type content="text/html; charset=iso-8859-2">ł',
        ),
        (b"<meta charset=utf-16>\xff", "<meta charset=utf-16>\ufffd"),
        (b"<meta charset=nothing>\xff", "<meta charset=nothing>\ufffd"),
    ],
)
def test_html_names_its_charset_where_nothing_else_does(markup, text):
    assert charsets.decode_or_utf8(markup, None, is_html=True) == text
    assert charsets.decode_or_utf8(b"\xa3" + markup, "iso-8859-2", is_html=True)[0] == "Ł"


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("iso-2022-jp", "水野様 会議の件"),
        ("windows-1252", "Grüße für €5 – “ja”"),
        ("iso-8859-8-i", "בוקר טוב"),
        ("gb2312", "中文字"),
        ("shift_jis", "会議の"),
        ("euc-kr", "안녕하세요"),
        ("big5", "繁體中文"),
    ],
)
def test_utf8_of_three_bytes_comes_before_every_label(label, text):
    assert charsets.decode_or_utf8(text.encode(), label) == text


def test_a_character_that_is_cut_does_not_spoil_the_rest():
    cut = charsets.decode_or_utf8("Dzień".encode()[:-1], "iso-8859-1", is_cut=True)
    assert cut == "Dzie"
