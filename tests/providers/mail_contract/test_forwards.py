"""Every mail connector: what is forwarded."""

from mail_cases import BOB, sent

from providers.ports.mail import Forward, SendAttempt


async def test_a_forward_includes_the_attachments(account):
    name = account.add(
        "Plan",
        html="<p>Shall we?</p>",
        files=[("größe.pdf", "application/pdf", b"%PDF-1.7")],
        headers=[("References", "<root@north.example>")],
    )

    await account.port.forward(
        name,
        Forward(
            to=(BOB,),
            body="Look:",
            body_type="text",
            attempt=SendAttempt(message_id="fw.1@gw.example"),
        ),
    )

    _, email = await sent(account)
    assert email.to == (BOB,)
    assert email.subject.lower() in ("fwd: plan", "fw: plan")
    assert email.body.index("Look:") < email.body.index("Ann Author") < email.body.index("Shall we")
    assert [(attachment.name, attachment.size) for attachment in email.attachments] == [
        ("größe.pdf", 8)
    ]


async def test_a_forward_omits_hidden_fields(account):
    name = account.add("Plan", body="Shall we?", cc="Dora Dean <dora@west.example>")

    await account.port.forward(
        name,
        Forward(
            to=(BOB,),
            hidden=frozenset({"from_", "to", "cc", "subject"}),
            attempt=SendAttempt(message_id="fw.1@gw.example"),
        ),
    )

    _, email = await sent(account)
    text = email.body + email.subject
    assert "Shall we?" in text
    assert [word for word in ("Ann", "north", "dora", "Plan") if word in text] == []
