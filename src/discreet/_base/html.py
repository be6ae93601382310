"""One page for all that people look at in a browser: one offline file, one style sheet, one policy.

Whatever a page shows may come from anybody. So each allows nothing (``default-src 'none'``) but pictures that stand in
it, its one style sheet, and its one script where it has one, both named by their SHA-256. The same input gives the same
bytes.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files


@cache
def _style() -> str:
    return (files("discreet._base") / "page.css").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def document(title: str, body: str, script: str = "") -> str:
    """Return a whole page.

    Parameters
    ----------
    title : str
        Plain text; it is escaped here.
    body : str
        HTML in which everything that came from elsewhere is escaped already.
    script : str
        Runs at the end of the page; by default the policy allows none.
    """
    scripts = f"script-src '{_hash(script)}'; " if script else ""
    allowed = f"{scripts}style-src '{_hash(_style())}'; img-src data:"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{_style()}</style>
</head>
<body>
{body.strip()}
{f"<script>{script}</script>" if script else ""}
</body>
</html>
"""
