"""JSON files that are kept: each names its kind and version, and holds a digest of all that it says.

One flipped bit may leave a file that reads well and says something else. So the values are sealed with a digest over
their one canonical form (sorted names, no blanks, every digit of a number); a file that does not fit its digest is
refused, and so is one with NaN, a name twice, or more nesting or bytes than such a file has. The digest notices
accidents. It is no signature: whoever edits a file on purpose can write the digest, too.
"""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from discreet._base.files import checksum_of, read_json
from discreet._base.validate import path_shown
from discreet.errors import DiscreetError


class Seal(NamedTuple):
    """One kind of file."""

    #: Kind and version, such as "discreet.reports/2".
    schema: str
    #: What such a file holds, for errors: "kept reports".
    thing: str
    #: Raised for any other file.
    error: type[DiscreetError]
    #: What to do where one is damaged.
    cure: str = "restore it from a copy"
    #: Bytes that one may have.
    largest: int = 2**26

    def close(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return values with the schema's name and the digest."""
        closed = {"schema": self.schema, **content}
        return {**closed, "checksum": checksum_of(closed)}

    def opened(self, value: Any, where: object) -> dict[str, Any]:
        """Return what :meth:`close` was given; ``error`` for all else. ``where`` is what to call the file."""
        if not isinstance(value, Mapping):
            raise self.error(f"{where} holds no {self.thing}: expected a JSON object; {self.cure}.")
        content: dict[str, Any] = dict(value)
        checksum, schema = content.pop("checksum", None), content.get("schema")
        if schema != self.schema:
            kind = self.schema.rpartition("/")[0] + "/"
            ours = isinstance(schema, str) and schema.startswith(kind)
            advice = "open it with the version of discreet that wrote it" if ours else self.cure
            raise self.error(
                f"{where} holds no {self.thing} of schema {self.schema}, which this version reads: it says "
                f"{ascii(schema)[:40]}; {advice}."
            )
        if not checksum or checksum != checksum_of(content):
            raise self.error(
                f"{where}: the checksum does not fit the content: it was damaged or edited; {self.cure}."
            )
        del content["schema"]
        return content

    def to_bytes(self, content: Mapping[str, Any]) -> bytes:
        """Return the file that holds values; ``error`` where it would be too large to be read."""
        raw = (json.dumps(self.close(content), indent=1, sort_keys=True, allow_nan=False) + "\n").encode()
        if len(raw) > self.largest:
            raise self.error(f"a file of {self.thing} would be larger than {self.largest >> 20} MiB.")
        return raw

    @contextmanager
    def reading(self, raw: Any, where: object) -> Generator[dict[str, Any]]:
        """Yield what was sealed in a file's bytes, or in the values that they hold.

        Raises ``error`` also for what the reader refuses of them, or does not find.
        """
        try:
            if isinstance(raw, bytes) and len(raw) > self.largest:
                raise ValueError("more bytes than such a file has")
            value = read_json(raw) if isinstance(raw, bytes) else raw
        except ValueError as fault:
            raise self.error(f"{where} holds no {self.thing}, but {fault}; {self.cure}.") from None
        content = self.opened(value, where)
        try:
            yield content
        except DiscreetError as fault:
            raise self.error(f"{where} cannot be trusted: {str(fault)[:200]}") from None
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
            raise self.error(f"{where} holds {self.thing} of another form; {self.cure}.") from None

    def read(self, path: str | os.PathLike[str]) -> bytes:
        """Return the bytes of a file, one more than there may be at most; ``error`` where it cannot be read."""
        try:
            with Path(path).open("rb") as file:
                return file.read(self.largest + 1)
        except OSError as fault:
            raise self.error(
                f"{path_shown(path)} holds no {self.thing}: it cannot be read ({fault.strerror or fault}); {self.cure}."
            ) from None
