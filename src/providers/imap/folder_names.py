"""
Usual names of folders for sent mail, drafts, deleted mail and junk, in the languages of servers.

They are what mail servers and mail programs call these folders where no SPECIAL-USE names them:
docs/spec/upstream/imap.md#folders.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from providers.search_text import fold_label


class Role(StrEnum):
    """The use of a folder; the values are the words of `MailQuery.label`."""

    INBOX = "INBOX"
    SENT = "SENT"
    DRAFTS = "DRAFT"
    TRASH = "TRASH"
    JUNK = "SPAM"
    ALL = "ALL"  # a view of all folders, in which every message stands again
    FLAGGED = "FLAGGED"  # a view of the messages with a star
    IMPORTANT = "IMPORTANT"  # a view of the messages that a server takes for important


_NAMES: Mapping[Role, str] = MappingProxyType(
    {
        Role.SENT: """
            sent, sent items, sent messages, sent mail, sent-mail, sent objects, sent e-mail,
            gesendet, gesendete objekte, gesendete elemente, gesendete nachrichten,
            gesendete e-mails, gesendete mails, versendet,
            envoyés, envoyé, éléments envoyés, messages envoyés, objets envoyés, courrier envoyé,
            enviados, enviado, enviadas, elementos enviados, mensajes enviados, correo enviado,
            posta inviata, inviata, inviati, messaggi inviati, elementi inviati,
            itens enviados, mensagens enviadas, correio enviado, e-mails enviados,
            verzonden, verzonden items, verzonden berichten, verzonden objecten, verzonden e-mail,
            wysłane, wyslane, elementy wysłane, wiadomości wysłane,
            skickat, skickade, skickade objekt, skickade meddelanden,
            sendt, sendt post, sendte elementer, sendte beskeder, sendte meldinger, sendt e-post,
            lähetetyt, lähetetyt viestit, lähetetyt kohteet,
            отправленные, отправленные элементы, отправленное,
            відправлені, надіслані, надіслані елементи, изпратени,
            odeslané, odeslaná pošta, odeslané zprávy, odeslané položky,
            odoslané, odoslaná pošta, odoslané položky,
            elküldött, elküldött elemek, elküldött üzenetek, elküldött levelek,
            trimise, mesaje trimise, elemente trimise,
            gönderilmiş öğeler, gönderilenler, gönderilmiş, gönderilmiş postalar,
            απεσταλμένα, נשלחו, פריטים שנשלחו, المرسل, العناصر المرسلة, البريد المرسل,
            已发送, 已发送邮件, 已发邮件, 已发送的邮件, 已傳送, 已傳送郵件, 已寄出, 寄件備份,
            送信済み, 送信済, 送信済みアイテム, 送信済みメール, 送信済みトレイ, 送信済トレイ,
            送信済みメッセージ, 보낸편지함, 보낸 편지함, 보낸메일함, 보낸 메일함
        """,
        Role.DRAFTS: """
            drafts, draft, draft messages, entwürfe, entwurf, brouillons, brouillon,
            borradores, borrador, bozze, bozza, rascunhos, rascunho, concepten, concept,
            kopie robocze, wersje robocze, robocze, szkice, utkast, kladder, kladde, kladd,
            luonnokset, черновики, черновик, чернетки, чернови, koncepty, rozepsané, rozpísané,
            piszkozatok, vázlatok, ciorne, schițe, taslaklar, πρόχειρα, טיוטות, المسودات, مسودات,
            草稿, 草稿箱, 草稿夹, 草稿匣, 下書き, 下書, 下書きトレイ, 임시보관함, 임시 보관함
        """,
        Role.TRASH: """
            trash, deleted, deleted items, deleted messages, deleted mail, bin, wastebasket,
            recycle bin, papierkorb, gelöscht, gelöschte objekte, gelöschte elemente,
            gelöschte nachrichten, gelöschte e-mails,
            corbeille, poubelle, supprimés, éléments supprimés, messages supprimés,
            papelera, papelera de reciclaje, eliminados, elementos eliminados,
            mensajes eliminados, cestino, posta eliminata, elementi eliminati, messaggi eliminati,
            lixo, lixeira, itens eliminados, itens excluídos, excluídos, mensagens excluídas,
            prullenbak, prullenmand, verwijderd, verwijderde items, verwijderde berichten,
            kosz, elementy usunięte, usunięte, papperskorg, papperskorgen, borttagna objekt,
            borttaget, papirkurv, papirkurven, slettet post, slettet, slettede elementer,
            slettede beskeder, søppel, søppelbøtte, roskakori, poistetut, poistetut viestit,
            корзина, удаленные, удаленные элементы, кошик, видалені, видалені елементи, кошче,
            koš, odstraněná pošta, odstraněné, odstraněné položky, kôš, odstránená pošta,
            odstránené položky, kuka, lomtár, törölt elemek, coș de gunoi, elemente șterse,
            çöp kutusu, çöp, silinmiş öğeler, silinenler, κάδος απορριμμάτων, διαγραμμένα,
            אשפה, פריטים שנמחקו, المهملات, سلة المهملات, العناصر المحذوفة,
            已删除, 已删除邮件, 已删除的邮件, 已刪除, 已刪除郵件, 刪除的郵件, 垃圾桶, 废件箱,
            回收站, ゴミ箱, ごみ箱, 削除済み, 削除済みアイテム, 削除済みメッセージ, 削除済みトレイ,
            휴지통, 지운편지함, 지운 편지함, 삭제된 항목
        """,
        Role.JUNK: """
            junk, junk e-mail, junk email, junk mail, spam, bulk, bulk mail, bulk email,
            spamverdacht, spam-verdacht, junk-e-mail, unerwünscht, unerwünschte werbung,
            unerwünschte e-mails, courrier indésirable, indésirables, messages indésirables,
            pourriel, pourriels, spams, correo no deseado, correo electrónico no deseado,
            correo basura, no deseado, posta indesiderata, indesiderata, posta spazzatura,
            lixo eletrônico, lixo eletrónico, lixo electrónico, correio não solicitado,
            ongewenst, ongewenste e-mail, ongewenste mail, ongewenste berichten,
            wiadomości-śmieci, wiadomości śmieci, niechciane, skräppost, skräp,
            uønsket post, uønsket mail, uønsket e-mail, uønsket e-post, søppelpost,
            roskaposti, спам, нежелательная почта, нежелательные, небажана пошта,
            nevyžádaná pošta, nevyžádané, nevyžiadaná pošta, levélszemét, mesaje nedorite,
            istenmeyen, istenmeyen postalar, gereksiz e-posta, önemsiz e-posta,
            ανεπιθύμητη αλληλογραφία, ανεπιθύμητα, דואר זבל, البريد غير الهام, بريد غير هام,
            垃圾邮件, 垃圾郵件, 垃圾箱, 广告邮件, 迷惑メール, 迷惑メールフォルダ,
            스팸, 스팸메일함, 스팸 메일함, 정크 메일
        """,
    }
)
# Below the folder that holds Gmail's views, where its server names no uses.
_GMAIL_NAMES: Mapping[Role, str] = MappingProxyType(
    {
        Role.ALL: """
            all mail, alle nachrichten, tous les messages, todos, tutti i messaggi,
            todos os e-mails, todo o correio, todo el correo, alle berichten, wszystkie
        """,
        Role.FLAGGED: """
            starred, markiert, suivis, favoris, destacados, speciali, com estrela, met ster,
            oznaczone gwiazdką
        """,
        Role.IMPORTANT: """
            important, wichtig, importants, importante, importantes, importanti, belangrijk, ważne
        """,
    }
)
GMAIL_ROOTS = frozenset({"[gmail]", "[google mail]"})
# Folders below which servers put the folders of an account.
_ROOTS = frozenset({"inbox", "mail"}) | GMAIL_ROOTS


_YO = ("\u0451", "\u0435")  # two spellings of one Russian letter


def _by_name(names: Mapping[Role, str]) -> dict[str, Role]:
    return {fold_label(name): role for role, text in names.items() for name in text.split(",")}


_ROLES = _by_name(_NAMES)
_GMAIL_ROLES = _ROLES | _by_name(_GMAIL_NAMES)


def role_of(path: Sequence[str]) -> Role | None:
    """
    Return the role that a folder has by its usual name; None for a folder of the owner's own.

    Args:
        path: The names from the top down. What lies deeper than servers put such folders is the
            owner's own.
    """
    *parents, name = (fold_label(name).replace(*_YO) for name in path)
    if len(parents) > 1 or not _ROOTS.issuperset(parents):
        return None
    return (_GMAIL_ROLES if GMAIL_ROOTS.issuperset(parents) and parents else _ROLES).get(name)
