"""Links, handles and entities: what stands in messages and is no word.

Addresses of pages and of mail, handles (``@name``), and the marks of forwarded posts (``RT @name``, a link that was cut
short) are left out; they name people and places of the net, and "http", "rt" and "amp" would lead half the topics of a
corpus of posts. "rt" is such a mark only where a handle or a link follows, and "@" before a digit is no handle: in
notes of a ward "rt: knee" is the right one, and "@5mg" a dose. An HTML entity becomes the character that it stands for:
``&amp;`` is no word, ``caf&eacute;`` is one.
Words behind a hash sign stay.
"""

import html
import re

__all__ = ["takes_links", "without_links"]

#: One of these is in every text that has something to leave out; looked for first, because it is quick.
_SIGNS = ("@", "&", "http", "www.", "t.co/", "bit.ly/", "youtu.be/", "pic.twitter.com/")
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
        text = _ENTITY.sub(lambda found: html.unescape(f"&{found[1]};"), text)
    return _LINK.sub(" ", text)


def takes_links(pattern: re.Pattern[str]) -> bool:
    r"""Whether a token pattern was made to find handles or links, as ``\S+`` and ``[@#]?\w+`` were."""
    return any(pattern.fullmatch(example) is not None for example in ("@name", "http://a.b/c", "&amp;"))
