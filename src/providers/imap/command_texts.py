"""Texts of commands: names, and strings among their arguments."""


def name_of(part: object) -> str:
    """Return the name of the command that begins with a part: "FETCH" of "UID FETCH 1 (FLAGS)"."""
    words = part.split(" ", 2) if isinstance(part, str) else [""]
    return (words[1] if words[0] == "UID" else words[0]).upper()


def astring(value: str | bytes) -> str | bytes:
    """Write a text as a quoted string if it is plain ASCII, else as a literal."""
    content = value.encode() if isinstance(value, str) else value
    if len(content) < 1000 and all(0x20 <= byte < 0x7F for byte in content):
        quoted = content.decode("ascii").replace("\\", "\\\\").replace('"', '\\"')
        return f'"{quoted}"'
    return content
