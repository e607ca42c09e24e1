"""What a command cannot do, in a sentence for the person who asked."""


class CannotDo(Exception):
    """The message says what is missing and may be shown."""
