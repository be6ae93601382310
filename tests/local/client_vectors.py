"""Shared test vectors of the clients: ``python tests/local/client_vectors.py`` writes vectors.json anew.

They come from the slow description in ``tests/naive/bit_channel.py`` and from nothing else.
"""

import json
import struct
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
VOCABULARY = ["ache", "bone", "cold", "fever", "ärztin", "naïve", "x_1", "42", "cough", "東京"]
TEXTS = [
    "Fever, fever! And a COLD.",
    "Die Ärztin sagt: naïve x_1, 42; a b 東京",
    "",
    "don't cough—cough",
    "STRASSE straße ΟΔΟΣ ﬁ x² ½",
    "RT @Ann_1: fever &amp; cough&#39;s http://t.co/9L9jePj8nb www.a.org/x #cold mail x.y@site.org https\u2026 @ home",
    "Pain in rt:knee, RT : leg, @5mg or morphine@2.5mg; rt @10 RT:@bob x@y.org RT: http://t.co/x RT www.a.org @9a@b.c",
    "हिन्दी में कई रोगी थे, u\u0308ber Mu\u0308he 2\ufe0f\u20e3 می\u200cخواهم",
    "豈豈 cafe\u0301 각각 ΤΗΣ.ΚΑΙ ΤΗΣ.12 Σ ς ΣΑΣ",
    "豈豈 Ⅷa 각각 bıt.ly/ab @ann.bsky.socıal",
]
CHANNELS = [(3139872686, 1155094610, 0), (2863311530, 400000000, 2), (4294967295, 1, 0), (2, 1, 1)]


def build():
    from tests.naive.bit_channel import report

    rng = np.random.default_rng(20)
    digest = sha256("".join(f"{word}\n" for word in VOCABULARY).encode()).digest()
    vectors = []
    for p, q, limit in CHANNELS:
        for words in ([], [0, 3, 3], [0, 1, 2, 4, 5, 9], list(range(10))):
            raw = rng.bytes(400)
            if limit:
                raw = b"\xff" * 4 + raw  # a number that a choice among words may have to refuse
            numbers, used = struct.unpack(f"<{len(raw) // 4}I", raw), [0]

            def source(numbers=numbers, used=used):
                while True:
                    used[0] += 1
                    yield numbers[used[0] - 1]

            present = [t in words for t in range(len(VOCABULARY))]
            bits = report(present, p, q, limit, source())
            number = raw[4 * used[0] : 4 * used[0] + 16]
            packed = np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes()
            for seeded in (False, True):
                form = struct.pack("<BB2s", 2, 1, bytes(2)) if seeded else struct.pack("<B3s", 1, bytes(3))
                head = b"DSCR" + form + struct.pack("<IIII", len(bits), limit, p, q) + digest + number
                vectors.append(
                    {
                        "channel": {"p": p, "q": q, "limit": limit},
                        "words": words,
                        "random": raw.hex(),
                        "reproducible": seeded,
                        "report": (head + packed).hex(),
                    }
                )
    return {"vocabulary": VOCABULARY, "reports": vectors, "texts": texts()}


def texts():
    from discreet.corpus import Tokenizer

    whole, cased = Tokenizer(), Tokenizer(lowercase=False)
    return [{"text": text, "tokens": whole(text), "cased": cased(text)} for text in TEXTS]


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[1]))
    (HERE / "vectors.json").write_text(json.dumps(build(), indent=1, ensure_ascii=False) + "\n")
