"""What the pages share: their templates, loaded once, and the digests by which each names its own script and style."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template

__all__ = ["content_hash", "part", "template"]


@cache
def part(name: str) -> str:
    """Return a file of the templates' folder."""
    return (files("discreet.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def template(name: str) -> Template:
    """Return a template; whatever it is given is escaped."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(part(name))


def content_hash(text: str) -> str:
    """Return how a content security policy names this script or style."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
