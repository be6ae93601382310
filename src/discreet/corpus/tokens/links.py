"""Links, handles and entities: what stands in messages and is no word.

Addresses of pages and of mail, handles (``@name``), and the marks of forwarded posts (``RT @name``, a link that was cut
short) are left out; they name people and places of the net, and "http", "rt" and "amp" would lead half the topics of a
corpus of posts. "rt" is such a mark only where a handle or a link follows, and "@" before a digit is no handle: in
notes of a ward "rt: knee" is the right one, and "@5mg" a dose. An HTML entity becomes the character that it stands for:
``&amp;`` is no word, ``caf&eacute;`` is one. Names are those of HTML 4, and those of HTML 5 for Latin letters and marks
of ASCII: the client for browsers has the same table, so that both count alike.
Words behind a hash sign stay.
"""

import re
import sys
from html.entities import html5, name2codepoint

__all__ = ["takes_links", "without_links"]

#: One of these is in every text that has something to leave out; looked for first, because it is quick.
_SIGNS = ("@", "&", "http", "www.", "t.co/", "bit.ly/", "youtu.be/", "pic.twitter.com/")
_LAST_OF_LATIN = 0x17F
_NAMED = {
    name[:-1]: character
    for name, character in html5.items()
    if name.endswith(";")
    and len(character) == 1
    and (name[:-1] in name2codepoint or ord(character) <= _LAST_OF_LATIN)
}
_ENTITY = re.compile(r"&(?:amp;)*(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_LINK = re.compile(
    r"""
    (?<!\w) (?:
        https?(?: ://\S* | :?/?(?:\u2026|\.\.+) | :(?=\s|$) | (?=\s*$) )  # a page, or a link that was cut short
      | www\.\S+
      | (?: t\.co | bit\.ly | youtu\.be | pic\.twitter\.com ) /\S*
      | [\w.+-]{1,64} @ [\w-]{1,63} (?: \.[\w-]{1,63} )* \.(?!\d)[\w-]{1,63}  # mail
      | (?: rt (?: \s+ | [ ]?:\s* ) ["\u201c]? )? @(?!\d)\w+ (?: @[\w-]+(?:\.[\w-]+)+ | \.bsky\.social )? :?  # a handle
      | rt (?: \s+ | [ ]?:\s* ) (?= https?:// | www\. | (?: t\.co | bit\.ly | youtu\.be | pic\.twitter\.com ) / )
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def without_links(text: str) -> str:
    """Return the text with blanks in place of links, and characters in place of entities."""
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return text
    if "&" in text:
        text = _ENTITY.sub(lambda found: _character(found[1]), text)
    return _LINK.sub(" ", text)


def _character(entity: str) -> str:
    """Return what an entity stands for; a blank where it stands for nothing, itself where nobody knows its name."""
    if entity[0] != "#":
        return _NAMED.get(entity, f"&{entity};")
    code = int(entity[2:], 16) if entity[1] in "xX" else int(entity[1:])
    if code < ord(" ") or code > sys.maxunicode or 0xD800 <= code < 0xE000:
        return " "
    if 0x80 <= code < 0xA0:
        return bytes([code]).decode("cp1252", "replace").replace("\ufffd", chr(code))
    return chr(code)


def takes_links(pattern: re.Pattern[str]) -> bool:
    r"""Whether a token pattern was made to find handles or links, as ``\S+`` and ``[@#]?\w+`` were."""
    return any(pattern.fullmatch(example) is not None for example in ("@name", "http://a.b/c", "&amp;"))
