"""The number of values of a JSON response, whatever its texts contain."""

import pytest

from providers.failures import TooLarge
from providers.http.bodies import MAX_VALUES, check_number_of_values

MANY = MAX_VALUES + 10
FEW = MAX_VALUES - 10
BODIES = {
    "commas in a text": (b'{"body":"' + b"," * MANY + b'"}', True),
    "quotation marks in a text": (b'["' + rb"\",[{" * MANY + b'"]', True),
    "backslashes at the end of a text": (b'["' + rb"\\" + b'","' + b"," * MANY + b'"]', True),
    "a text without an end": (b'["' + b"," * MANY, True),
    "few numbers": (b"[" + b"1," * FEW + b"1]", True),
    "numbers": (b"[" + b"1," * MANY + b"1]", False),
    "lists": (b"[" * MANY, False),
    "objects": (b"[" + b"{}" * MANY, False),
    "texts": (b"[" + b'"a",' * MANY + b"1]", False),
    "members": (b"{" + b'"a":1,' * MANY + b'"a":1}', False),
}


@pytest.mark.parametrize("name", BODIES)
async def test_values_are_counted_outside_of_texts(name):
    body, passes = BODIES[name]

    if passes:
        await check_number_of_values(body)
    else:
        with pytest.raises(TooLarge):
            await check_number_of_values(body)
