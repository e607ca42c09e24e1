"""Parameters of MIME headers: names of files as senders write them, and as strangers do."""

import encodings
import pkgutil

import pytest

from providers.connectors.imap import body_structure
from providers.mail import original_message, parameters

CODECS = sorted({module.name for module in pkgutil.iter_modules(encodings.__path__)})

# Parameters of a header -> the name of the file.
NAMES = {
    "filename=plain.txt": "plain.txt",
    "FileName=UP.txt": "UP.txt",
    'filename = "sp ace.txt"': "sp ace.txt",
    'filename="a;b.txt"; size=3': "a;b.txt",
    'filename="a \\"b\\".txt"': 'a "b".txt',
    "filename=gr\u00f6\u00dfe.pdf": "gr\u00f6\u00dfe.pdf",
    "filename*=utf-8''%E2%82%AC%20x.pdf": "\u20ac x.pdf",
    "filename*=iso-8859-1'en'%E9.pdf": "\u00e9.pdf",
    "filename*=''abc": "abc",
    "filename*=abc": "abc",
    "filename*=no-charset''x%C3%A9": "x\u00e9",
    'filename*0="a"; filename*1="b.txt"': "ab.txt",
    "filename*1*=b; filename*0*=utf-8''%C3%A9": "\u00e9b",
    "filename*0*=utf-8''%E2%82; filename*1*=%AC; filename*2=.pdf": "\u20ac.pdf",
    "filename*0*=utf-8''%C; filename*1*=3%A9.txt": "\u00e9.txt",
    "filename=a.pdf (the lease)": "a.pdf",
    'filename="a (1).pdf" (the lease); size=3': "a (1).pdf",
    "filename=a(1).pdf": "a(1).pdf",
    "filename=a; filename*=utf-8''b": "b",
    "filename*=utf-8''b; filename=a": "b",
    "filename*0*=utf-8''b; filename*1=c; filename=a": "bc",
    "filename*=; filename=a": "a",
    # On these the standard library raises.
    "filename*=utf-8''a; filename*0*=utf-8''b": "a",
    f"filename*{'1' * 5000}=a; filename=b": "b",
    "filename*=undefined''a": "a",
    "filename*=idna''a": "a",
    "filename*=a\0b''a": "a",
}


@pytest.mark.parametrize(("header", "name"), NAMES.items(), ids=lambda text: text[:30])
def test_the_name_of_a_file(header, name):
    raw = f"Content-Type: application/pdf\r\nContent-Disposition: attachment; {header}\r\n\r\nx"
    _, (file,) = original_message.parse(raw.encode(), "PROVIDER_A")
    assert file.name == name

    listed = [part for pair in parameters.split(f"a; {header}") for part in pair]
    (part,) = imap_parts(listed)
    assert part.filename == name


@pytest.mark.parametrize("codec", [*CODECS, "a\0b", "\u00e9", "x" * 5000])
def test_no_charset_of_a_stranger_fails(codec):
    """Any charset may be named, and Python knows many codecs that are none."""
    for value in ("x", "%E9%FF", "\\x", "xn--a%FF"):
        for parameter in ("filename*", "filename*0*", "charset*"):
            stated = f"{parameter}={codec}''{value}"
            heads = f"Content-Type: text/plain; {stated}\r\nContent-Disposition: a; {stated}"
            raw = f"{heads}\r\n\r\n\u00e9"
            email, files = original_message.parse(raw.encode(), "PROVIDER_A")
            assert bool(email.body) is not bool(files)

            imap_parts([parameter, f"{codec}''{value}"])


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/plain; charset=us-ascii (Plain text)", "us-ascii"),  # RFC 2045, 5.1
        ('text/plain; charset="koi8-r" (Russian); x=y', "koi8-r"),
        ("text/plain; charset*=us-ascii'en'koi8-r", "koi8-r"),
        ("text/plain charset=koi8-r", "koi8-r"),
        ('text/plain; name="charset=koi8-r.txt"; CHARSET = utf-8', "utf-8"),
        ("text/plain", ""),
    ],
)
def test_the_charset_of_a_text(content_type, charset):
    assert parameters.charset(content_type) == charset


def imap_parts(listed):
    """Return the parts of a BODYSTRUCTURE whose file has the parameters *listed*."""
    named = [b"attachment", [text.encode() for text in listed]]
    leaf = [b"application", b"pdf", None, None, None, b"base64", b"4", None, named]
    return body_structure.parse(leaf).parts
