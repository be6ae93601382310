"""What people look at: the card, the page, the map and the exports of a release. Nothing here sees private text."""

__all__: list[str] = []
