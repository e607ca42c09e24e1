"""
Time zones by the names that calendar programs write: docs/spec/upstream/caldav.md#time-zones.

Windows' names are those of CLDR's windowsZones, from the library `icalendar`. CLDR has no display
names; the table below has those that Windows and Outlook show in English.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from html import unescape
from types import MappingProxyType
from urllib.parse import unquote
from zoneinfo import ZoneInfo, available_timezones

from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

_MAX_NAME = 200
_UTC_NAMES = frozenset({"utc", "gmt", "z", "etc/utc", "zulu", "coordinateduniversaltime"})
_OFFSET = re.compile(r"(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d\d))?")
_OFFSET_PREFIX = re.compile(r"\((?:utc|gmt)(?:[+-][\d:.]+)?\)")
_NUMBERED = re.compile(r"(?<![\s_-])[\s_-]+\d{1,2}$")
_NEITHER = re.compile(r"[^a-z0-9+/:.()-]+")
_NO_LETTER = re.compile(r"[^a-z0-9+-]+")

# Names that the tz database or Windows no longer has.
_RETIRED: Mapping[str, str] = MappingProxyType(
    {
        "us/pacific-new": "America/Los_Angeles",
        "canada/east-saskatchewan": "America/Regina",
        "mid-atlantic standard time": "Atlantic/South_Georgia",
        "kamchatka standard time": "Asia/Kamchatka",
        "mexico standard time": "America/Mexico_City",
        "mexico standard time 2": "America/Mazatlan",
        "armenian standard time": "Asia/Yerevan",
    }
)

# Windows' name, then the cities and regions that its display names list.
_DISPLAYED = """
Dateline Standard Time: International Date Line West
Aleutian Standard Time: Aleutian Islands
Hawaiian Standard Time: Hawaii
Marquesas Standard Time: Marquesas Islands
Alaskan Standard Time: Alaska
Pacific Standard Time (Mexico): Baja California; Tijuana, Baja California
Pacific Standard Time: Pacific Time (US & Canada); Pacific Time (US & Canada), Tijuana
US Mountain Standard Time: Arizona
Mountain Standard Time (Mexico): La Paz, Mazatlan; Chihuahua, La Paz, Mazatlan
Mountain Standard Time: Mountain Time (US & Canada)
Yukon Standard Time: Yukon
Central America Standard Time: Central America
Central Standard Time: Central Time (US & Canada)
Easter Island Standard Time: Easter Island
Central Standard Time (Mexico): Guadalajara, Mexico City, Monterrey; Mexico City
Canada Central Standard Time: Saskatchewan
SA Pacific Standard Time: Bogota, Lima, Quito, Rio Branco; Bogota, Lima, Quito
Eastern Standard Time (Mexico): Chetumal
Eastern Standard Time: Eastern Time (US & Canada)
Haiti Standard Time: Haiti
Cuba Standard Time: Havana
US Eastern Standard Time: Indiana (East)
Turks And Caicos Standard Time: Turks and Caicos
Paraguay Standard Time: Asuncion
Atlantic Standard Time: Atlantic Time (Canada)
Venezuela Standard Time: Caracas
Central Brazilian Standard Time: Cuiaba; Manaus
SA Western Standard Time: Georgetown, La Paz, Manaus, San Juan; Caracas, La Paz
Pacific SA Standard Time: Santiago
Newfoundland Standard Time: Newfoundland
Tocantins Standard Time: Araguaina
E. South America Standard Time: Brasilia
SA Eastern Standard Time: Cayenne, Fortaleza; Buenos Aires, Georgetown
Argentina Standard Time: City of Buenos Aires; Buenos Aires
Greenland Standard Time: Greenland
Montevideo Standard Time: Montevideo
Magallanes Standard Time: Punta Arenas
Saint Pierre Standard Time: Saint Pierre and Miquelon
Bahia Standard Time: Salvador
Azores Standard Time: Azores
Cape Verde Standard Time: Cabo Verde Is.; Cape Verde Is.
GMT Standard Time: Dublin, Edinburgh, Lisbon, London
GMT Standard Time: Greenwich Mean Time: Dublin, Edinburgh, Lisbon, London; Greenwich Mean Time
Greenwich Standard Time: Monrovia, Reykjavik; Casablanca, Monrovia
Sao Tome Standard Time: Sao Tome
Morocco Standard Time: Casablanca
W. Europe Standard Time: Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna
Central Europe Standard Time: Belgrade, Bratislava, Budapest, Ljubljana, Prague
Romance Standard Time: Brussels, Copenhagen, Madrid, Paris
Central European Standard Time: Sarajevo, Skopje, Warsaw, Zagreb
W. Central Africa Standard Time: West Central Africa
Jordan Standard Time: Amman
GTB Standard Time: Athens, Bucharest; Athens, Bucharest, Istanbul; Athens, Istanbul, Minsk
Middle East Standard Time: Beirut
Egypt Standard Time: Cairo
E. Europe Standard Time: Chisinau; Bucharest
Syria Standard Time: Damascus
West Bank Standard Time: Gaza, Hebron
South Africa Standard Time: Harare, Pretoria
FLE Standard Time: Helsinki, Kyiv, Riga, Sofia, Tallinn, Vilnius
FLE Standard Time: Helsinki, Kiev, Riga, Sofia, Tallinn, Vilnius
Israel Standard Time: Jerusalem
South Sudan Standard Time: Juba
Kaliningrad Standard Time: Kaliningrad
Sudan Standard Time: Khartoum
Libya Standard Time: Tripoli
Namibia Standard Time: Windhoek
Arabic Standard Time: Baghdad
Turkey Standard Time: Istanbul
Arab Standard Time: Kuwait, Riyadh
Belarus Standard Time: Minsk
Russian Standard Time: Moscow, St. Petersburg; Moscow, St. Petersburg, Volgograd
E. Africa Standard Time: Nairobi
Volgograd Standard Time: Volgograd
Iran Standard Time: Tehran
Arabian Standard Time: Abu Dhabi, Muscat
Astrakhan Standard Time: Astrakhan, Ulyanovsk
Azerbaijan Standard Time: Baku
Russia Time Zone 3: Izhevsk, Samara
Mauritius Standard Time: Port Louis
Saratov Standard Time: Saratov
Georgian Standard Time: Tbilisi
Caucasus Standard Time: Yerevan
Afghanistan Standard Time: Kabul
West Asia Standard Time: Ashgabat, Tashkent; Islamabad, Karachi, Tashkent
Ekaterinburg Standard Time: Ekaterinburg
Pakistan Standard Time: Islamabad, Karachi
Qyzylorda Standard Time: Qyzylorda
India Standard Time: Chennai, Kolkata, Mumbai, New Delhi
Sri Lanka Standard Time: Sri Jayawardenepura
Nepal Standard Time: Kathmandu
Central Asia Standard Time: Astana; Astana, Dhaka; Bishkek
Bangladesh Standard Time: Dhaka
Omsk Standard Time: Omsk
Myanmar Standard Time: Yangon (Rangoon)
SE Asia Standard Time: Bangkok, Hanoi, Jakarta
Altai Standard Time: Barnaul, Gorno-Altaysk
W. Mongolia Standard Time: Hovd
North Asia Standard Time: Krasnoyarsk
N. Central Asia Standard Time: Novosibirsk; Almaty, Novosibirsk
Tomsk Standard Time: Tomsk
China Standard Time: Beijing, Chongqing, Hong Kong, Urumqi
North Asia East Standard Time: Irkutsk; Irkutsk, Ulaan Bataar
Singapore Standard Time: Kuala Lumpur, Singapore
W. Australia Standard Time: Perth
Taipei Standard Time: Taipei
Ulaanbaatar Standard Time: Ulaanbaatar
Aus Central W. Standard Time: Eucla
Transbaikal Standard Time: Chita
Tokyo Standard Time: Osaka, Sapporo, Tokyo
North Korea Standard Time: Pyongyang
Korea Standard Time: Seoul
Yakutsk Standard Time: Yakutsk
Cen. Australia Standard Time: Adelaide
AUS Central Standard Time: Darwin
E. Australia Standard Time: Brisbane
AUS Eastern Standard Time: Canberra, Melbourne, Sydney
West Pacific Standard Time: Guam, Port Moresby
Tasmania Standard Time: Hobart
Vladivostok Standard Time: Vladivostok
Lord Howe Standard Time: Lord Howe Island
Bougainville Standard Time: Bougainville Island
Russia Time Zone 10: Chokurdakh
Magadan Standard Time: Magadan
Norfolk Standard Time: Norfolk Island
Sakhalin Standard Time: Sakhalin
Central Pacific Standard Time: Solomon Is., New Caledonia
Central Pacific Standard Time: Magadan, Solomon Is., New Caledonia
Russia Time Zone 11: Anadyr, Petropavlovsk-Kamchatsky
New Zealand Standard Time: Auckland, Wellington
Fiji Standard Time: Fiji; Fiji, Marshall Is.; Fiji, Kamchatka, Marshall Is.
Chatham Islands Standard Time: Chatham Islands
Tonga Standard Time: Nuku'alofa
Samoa Standard Time: Samoa
Line Islands Standard Time: Kiritimati Island
"""


@lru_cache(maxsize=512)
def named_zone(name: str) -> tzinfo | None:
    """
    Return the zone of a name, in any letter case; None when it is not known.

    It is an IANA name, perhaps behind a vendor's prefix, one that Windows or Outlook gives a zone,
    or an offset.
    """
    if len(name) > _MAX_NAME:
        return None
    plain = unescape(unquote(name)).strip().strip("'\"").casefold()
    for variant in (plain, _NUMBERED.sub("", plain), plain.replace("-", "/")):
        zone = _by_iana_name(variant) or _by_windows_name(variant)
        if zone is not None:
            return zone
    return _by_offset(plain)


def _by_iana_name(name: str) -> tzinfo | None:
    parts = [part for part in _squeezed(name).split("/") if part]
    for length in range(min(3, len(parts)), 0, -1):
        key = "/".join(parts[-length:])
        if key in _UTC_NAMES:
            return UTC
        if (iana_name := _iana_names().get(key)) is not None:
            return ZoneInfo(iana_name)
    return None


def _by_windows_name(name: str) -> tzinfo | None:
    for key in (name, name.replace("daylight time", "standard time")):
        iana_name = _windows_names().get(_letters(key))
        if iana_name is not None:
            return ZoneInfo(iana_name)
    offset = _OFFSET_PREFIX.match(name)
    if offset is None:
        return None
    # The cities of a display name differ by version; the first one that is known decides.
    cities = (_letters(city) for city in re.split("[,/]", name[offset.end() :]))
    return next((ZoneInfo(_cities()[city]) for city in cities if city in _cities()), None)


def _by_offset(name: str) -> tzinfo | None:
    plain = _squeezed(name)
    # Windows calls `UTC-11` "(UTC-11:00) Coordinated Universal Time-11".
    shown = _OFFSET_PREFIX.sub("", plain).replace("coordinateduniversaltime", "utc")
    match = _OFFSET.fullmatch(shown or plain.strip("()"))
    if match is None:
        return None
    hours, minutes = int(match[2]), int(match[3] or 0)
    if hours > 18 or minutes > 59:
        return None
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if match[1] == "-" else offset)


@cache
def _iana_names() -> Mapping[str, str]:
    names = {_squeezed(name.casefold()): name for name in sorted(available_timezones())}
    return {**_RETIRED, **names}


@cache
def _windows_names() -> Mapping[str, str]:
    names = {**{name: _RETIRED[name] for name in _RETIRED if "/" not in name}, **WINDOWS_TO_OLSON}
    keys = {_letters(name.casefold()): iana_name for name, iana_name in names.items()}
    for windows_name, displayed in _displayed():
        keys.setdefault(_letters(displayed.casefold()), WINDOWS_TO_OLSON[windows_name])
    return keys


@cache
def _cities() -> Mapping[str, str]:
    keys: dict[str, str] = {}
    for windows_name, displayed in _displayed():
        for city in displayed.casefold().split(","):
            keys.setdefault(_letters(city), WINDOWS_TO_OLSON[windows_name])
    return keys


def _displayed() -> Iterator[tuple[str, str]]:
    for line in _DISPLAYED.strip().splitlines():
        windows_name, _, names = line.partition(": ")
        for displayed in names.split("; "):
            yield windows_name, displayed


def _squeezed(name: str) -> str:
    return _NEITHER.sub("", name)


def _letters(name: str) -> str:
    """Return a name without the offset that it begins with, punctuation and blanks."""
    return _NO_LETTER.sub("", _OFFSET_PREFIX.sub("", name.replace(" ", "")))
