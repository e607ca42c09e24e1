"""
The people of Harbourlight and everyone they deal with.

Harbourlight builds and restores wooden boats (the yard) and designs houses by the water (the
studio). Nora Lindqvist leads both and owns the two demo accounts. All people are invented; every
domain ends in ``.example``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

YARD_ACCOUNT = "nora.lindqvist@harbourlight.example"
STUDIO_ACCOUNT = "nora@harbourlight-studio.example"
OFFICE_ACCOUNT = "office@harbourlight-studio.example"  # shared, with nobody of its own
PARTNER_ACCOUNT = "henrik@harbourlight-studio.example"  # the second operator, who has no mailbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """
    A correspondent and the style of their mail program.

    Attributes:
        prefix: Prefix that their program adds to the subject of a reply.
        style: "plain", "html" (with a plain alternative), "html-only", or "html-logo" (with a
            picture under the signature).
        quotes: Whether replies quote the message they reply to, below the text.
        zone: IANA name.
    """

    key: str
    name: str
    email: str
    role: str = ""
    prefix: str = "Re:"
    style: str = "plain"
    charset: str = "utf-8"
    transfer: str = "quoted-printable"
    quotes: bool = False
    zone: str = "Europe/Stockholm"


def _by_key(*people: Person) -> Mapping[str, Person]:
    return MappingProxyType({person.key: person for person in people})


PEOPLE = _by_key(
    # The yard
    Person(
        key="nora",
        name="Nora Lindqvist",
        email="nora.lindqvist@harbourlight.example",
        role="Harbourlight, yard and studio",
    ),
    Person(
        key="jonas",
        name="Jonas Ekström",
        email="jonas@harbourlight.example",
        role="Foreman",
        charset="iso-8859-1",
        transfer="8bit",
    ),
    Person(
        key="astrid",
        name="Astrid Bergqvist",
        email="astrid@harbourlight.example",
        role="Sails and rigging",
        style="html",
    ),
    Person(
        key="mikael",
        name="Mikael Öberg",
        email="mikael@harbourlight.example",
        role="Joinery",
        charset="windows-1252",
    ),
    Person(
        key="priya",
        name="Priya Raman",
        email="priya@harbourlight.example",
        role="Naval architect",
        quotes=True,
    ),
    Person(
        key="tomasz",
        name="Tomasz Wójcik",
        email="tomasz@harbourlight.example",
        role="Engines and machining",
        charset="iso-8859-2",
    ),
    Person(
        key="linnea",
        name="Linnéa Sandström",
        email="linnea@harbourlight.example",
        role="Office and accounts",
        style="html",
    ),
    Person(
        key="oskar", name="Oskar Hallgren", email="oskar@harbourlight.example", role="Apprentice"
    ),
    Person(
        key="elif",
        name="Elif Demir",
        email="elif@harbourlight.example",
        role="Paint and varnish",
        charset="iso-8859-9",
    ),
    # The studio
    Person(
        key="nora2",
        name="Nora Lindqvist",
        email="nora@harbourlight-studio.example",
        role="Harbourlight Studio",
    ),
    Person(
        key="henrik",
        name="Henrik Aalto",
        email="henrik@harbourlight-studio.example",
        role="Partner, architect SAFA",
        style="html",
    ),
    Person(
        key="saskia",
        name="Saskia de Vries",
        email="saskia@harbourlight-studio.example",
        role="Architect",
        quotes=True,
    ),
    Person(
        key="matteo",
        name="Matteo Bellini",
        email="matteo@harbourlight-studio.example",
        role="Architect",
        style="html",
        charset="windows-1252",
    ),
    Person(
        key="yuki",
        name="Yuki Tanaka",
        email="yuki@harbourlight-studio.example",
        role="Architect",
        charset="utf-8",
        transfer="base64",
    ),
    Person(
        key="fatou",
        name="Fatou Diallo",
        email="fatou@harbourlight-studio.example",
        role="Project manager",
        style="html",
        quotes=True,
    ),
    Person(
        key="lukas",
        name="Lukas Brandt",
        email="lukas@harbourlight-studio.example",
        role="Structures",
        prefix="AW:",
        charset="iso-8859-1",
    ),
    Person(
        key="ingrid",
        name="Ingrid Solheim",
        email="ingrid@harbourlight-studio.example",
        role="Interiors",
        prefix="SV:",
    ),
    Person(
        key="daniel",
        name="Daniel Okafor",
        email="daniel@harbourlight-studio.example",
        role="Models and images",
        style="html",
    ),
    # Clients, neighbours, authorities
    Person(
        key="karin",
        name="Karin Wessel",
        email="karin.wessel@oldtown-harbour.example",
        role="Old Town Harbour Office",
        style="html",
        quotes=True,
    ),
    Person(
        key="birgitta",
        name="Birgitta Nyström",
        email="birgitta@nystrom-fastigheter.example",
        role="Nyström Fastigheter AB",
        prefix="SV:",
        charset="windows-1252",
        style="html-logo",
    ),
    Person(
        key="margarethe",
        name="Dr. Margarethe Hoffmann",
        email="m.hoffmann@elbmuseum.example",
        role="Elbmuseum, Sammlung Fahrzeuge",
        prefix="AW:",
        charset="iso-8859-1",
        zone="Europe/Berlin",
        quotes=True,
    ),
    Person(
        key="bernd",
        name="Bernd Köhler",
        email="koehler@elbspeicher.example",
        role="Elbspeicher Genossenschaft eG",
        prefix="AW:",
        charset="iso-8859-15",
        zone="Europe/Berlin",
    ),
    Person(
        key="etienne",
        name="Étienne Lefèvre",
        email="etienne@chantier-lefevre.example",
        role="Chantier Lefèvre, Brest",
        prefix="RE:",
        charset="iso-8859-1",
        zone="Europe/Paris",
    ),
    Person(
        key="camille",
        name="Camille Besson",
        email="camille@besson.example",
        prefix="Re :",
        style="html",
        zone="Europe/Paris",
        quotes=True,
    ),
    Person(
        key="yamamoto",
        name="山本 健",
        email="yamamoto@setouchi-ferry.example",
        role="瀬戸内フェリー株式会社",
        charset="iso-2022-jp",
        transfer="7bit",
        zone="Asia/Tokyo",
    ),
    Person(
        key="sato",
        name="佐藤 美咲",
        email="sato@setouchi-ferry.example",
        role="瀬戸内フェリー株式会社",
        charset="iso-2022-jp",
        transfer="7bit",
        zone="Asia/Tokyo",
    ),
    Person(
        key="layla",
        name="ليلى حداد",
        email="layla@corniche.example",
        role="Corniche Foundation",
        transfer="base64",
        zone="Asia/Beirut",
    ),
    Person(
        key="noa",
        name="נועה בן עמי",
        email="noa@haifa-rowing.example",
        role="Haifa Rowing",
        charset="windows-1255",
        transfer="base64",
        zone="Asia/Jerusalem",
    ),
    Person(
        key="katarzyna",
        name="Katarzyna Zielińska",
        email="k.zielinska@zielinska.example",
        prefix="Odp:",
        charset="iso-8859-2",
        zone="Europe/Warsaw",
    ),
    Person(
        key="grzegorz",
        name="Grzegorz Łukasik",
        email="biuro@tartak-lukasik.example",
        role="Tartak Łukasik",
        prefix="Odp:",
        charset="windows-1250",
        zone="Europe/Warsaw",
    ),
    Person(
        key="dmitri",
        name="Дмитрий Соколов",
        email="dmitri@sokolov-rig.example",
        role="Соколов, такелаж",
        charset="koi8-r",
        transfer="8bit",
        zone="Europe/Riga",
    ),
    Person(
        key="james",
        name="James Whitcombe",
        email="james@whitcombe.example",
        zone="Europe/London",
        transfer="7bit",
    ),
    Person(
        key="aoife",
        name="Aoife Brennan",
        email="secretary@kinvara-rowing.example",
        role="Hon. Secretary, Kinvara Rowing Club",
        zone="Europe/Dublin",
    ),
    Person(
        key="svenake",
        name="Sven-Åke Dahl",
        email="sven-ake@dahl-elmotor.example",
        role="Dahl Elmotor",
        prefix="SV:",
        charset="iso-8859-1",
        transfer="8bit",
    ),
    Person(
        key="rui",
        name="Rui Carvalho",
        email="rui@cortica-carvalho.example",
        role="Cortiça Carvalho",
        charset="windows-1252",
        zone="Europe/Lisbon",
    ),
    Person(
        key="maja",
        name="Maja Koch",
        email="maja.koch@nordsjo-marine.example",
        role="Nordsjö Marine Insurance",
        style="html",
        quotes=True,
    ),
    Person(
        key="peter",
        name="Peter Lundgren",
        email="peter.lundgren@kustbanken.example",
        role="Kustbanken",
        style="html",
    ),
    Person(
        key="helena",
        name="Helena Novák",
        email="studio@helena-novak.example",
        role="Photographer",
        charset="iso-8859-2",
        zone="Europe/Prague",
    ),
    Person(
        key="ana",
        name="Ana Kovač",
        email="jury@waterfront-prize.example",
        role="Waterfront Prize, jury office",
        style="html",
        zone="Europe/Zagreb",
    ),
    Person(
        key="tim",
        name="Tim O'Hara",
        email="tim@ohara-varnish.example",
        role="O'Hara Varnish & Paint",
        zone="Europe/Dublin",
    ),
    Person(key="elin", name="Elin Lindqvist", email="elin.lindqvist@postlada.example"),
    Person(
        key="gustav",
        name="Gustav Frisk",
        email="gustav.frisk@hamnkoren.example",
        role="Hamnkören",
        prefix="SV:",
    ),
    Person(
        key="amara",
        name="Amara Nwosu",
        email="amara@nwosu-geotech.example",
        role="Nwosu Geotechnical",
        quotes=True,
        zone="Europe/London",
    ),
    Person(
        key="chen",
        name="陈 晓明",
        email="chen@lanjing-glass.example",
        role="蓝鲸玻璃",
        charset="gb2312",
        transfer="base64",
        zone="Asia/Shanghai",
    ),
)

MAILING_LISTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "yard": ("Yard, everyone", "yard@harbourlight.example"),
        "studio": ("Studio, everyone", "studio@harbourlight-studio.example"),
    }
)


def signature(person: Person) -> str:
    """Return a person's signature: the name, and the role on a second line if there is one."""
    return person.name if not person.role else f"{person.name}\n{person.role}"
