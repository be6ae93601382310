"""Taking the files of a release apart and putting changed ones together again."""

import json
import struct
from hashlib import sha256

from discreet.privacy.ledger import file as ledger_file
from discreet.release.files import SEAL

MODEL, VOCABULARY = "model.safetensors", "vocabulary.txt"


def take_apart(raw):
    """Return the header's JSON, the metadata's JSON, and the numbers."""
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["discreet"]), raw[8 + length :]


def sealed(metadata):
    """Return metadata as text whose checksum fits, as whoever changes them on purpose can make it."""
    if isinstance(metadata, dict):
        metadata = SEAL.close({name: part for name, part in metadata.items() if name != "checksum"})
    return json.dumps(metadata, sort_keys=True)


def put_together(header, metadata, numbers):
    """Return a file that is consistent, whatever the metadata say; text is taken as it is."""
    text = metadata if isinstance(metadata, str) else sealed(metadata)
    about = header.get("__metadata__") if isinstance(header, dict) else None
    if isinstance(about, dict) and isinstance(about.get("discreet"), str):
        header = {**header, "__metadata__": {**about, "discreet": text}}
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    written += b" " * (-len(written) % 8)
    return struct.pack("<Q", len(written)) + written + numbers


def rewrite(folder, change_metadata=None, change_header=None, change_numbers=None):
    """Change a saved release in place; each change takes what there is and returns what shall be."""
    path = folder / MODEL
    header, metadata, numbers = take_apart(path.read_bytes())
    if change_metadata is not None:
        metadata = change_metadata(metadata)
    if change_header is not None:
        header = change_header(header)
    if change_numbers is not None:
        numbers = change_numbers(numbers)
    path.write_bytes(put_together(header, metadata, numbers))


def with_entries(metadata, events, **budget):
    """Return metadata with other bookings, and a checksum that fits them."""
    entries = [{"purpose": "x", "booking": i, "event": event} for i, event in enumerate(events, 1)]
    ledger = {**metadata["ledger"], **budget, "entries": entries}
    del ledger["checksum"]
    return {**metadata, "ledger": {**ledger, "checksum": ledger_file.checksum_of(ledger)}}


def write_words(folder, raw):
    """Replace the vocabulary file, and the digest of it in the model file."""
    (folder / VOCABULARY).write_bytes(raw)
    rewrite(folder, lambda metadata: {**metadata, "vocabulary_sha256": sha256(raw).hexdigest()})
