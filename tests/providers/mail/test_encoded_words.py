"""Encoded words as senders write them: docs/spec/email.md#encoded-words."""

import pytest

from providers.mail import encoded_words

ROWS = {
    "=?utf-8*fr?Q?Caf=C3=A9_menu?=": "Café menu",
    "=?x-unknown?Q?Offer:?= =?utf-8?Q?_Gr=C3=B6=C3=9Fe?= 12": "=?x-unknown?Q?Offer:?=  Größe 12",
    "=?utf-8?Q?a?= =?x-unknown?Q?b?= =?utf-8?Q?c?=": "a =?x-unknown?Q?b?= c",
    # A character, or four signs of base64, in two words.
    "=?UTF-8?Q?pasi=C5=BEad=C4?= =?utf-8?Q?=97jim?=": "pasižadėjim",
    "=?utf-8?B?w7?= =?utf-8?B?bDtsO2?=": "ööö",
    "=?gb2312?B?1g==?= =?gb2312?B?0A==?=": "中",
    "=?ISO-2022-JP?B?GyRCMnE1RBsoQg==?= =?ISO-2022-JP?B?GyRCMnE1RBsoQg==?=": "会議会議",
    "=?iso-2022-jp?B?GyRCMnE1RA==?= =?iso-2022-jp?Q?abc?=": "会議abc",
    # Blanks: none between words, all beside other text.
    "a =?utf-8?q?b?= c =?utf-8?q?d?=\t=?us-ascii?q?e?=  f": "a b c de  f",
    "=?utf-8?q?a?==?utf-8?q?b?=": "ab",
    # Errors of senders.
    "=?utf-8?Q?Really?? =?=": "Really?? =",
    "=?utf-8?Q?two words?=": "two words",
    "=?utf-8?B?w7Y?=": "ö",
    "=?utf-8?Q?=ZZ=?=": "=ZZ=",
    "=?utf-8?X?a?= =?utf-8?Q??= =?": "=?utf-8?X?a?=  =?",
    "x=?utf-8?q?=C3=B6?=y": "xöy",
}


@pytest.mark.parametrize(("text", "decoded"), ROWS.items())
def test_each_word_is_decoded_for_itself(text, decoded):
    assert encoded_words.decode(text) == decoded
