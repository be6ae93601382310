"""Shared test vectors of whole documents: ``python -m tests.local.whole_document_vectors`` writes them anew.

They come from the slow descriptions in ``tests/naive`` and from nothing else.
"""

import json
import struct
from hashlib import sha256
from pathlib import Path

import numpy as np

PATH = Path(__file__).with_name("whole_document_vectors.json")
WORDS = ["ache", "bone", "cold", "fever", "ärztin", "naïve", "x_1", "42", "cough", "東京"]
CHANNELS = {
    "words": (1024, 67, 57250309, 2**20),
    "squares": (16, 3, 2**50 + 7, 2**32 - 5),  # one try of four is refused
    "topics": (32, 5, 3, 1),
}


def digest_of(question):
    width = len(question["table"][0]) if question["table"] else 0
    head = f"discreet question {question['kind']} {question['place']} {width} 0.05 20\n"
    numbers = [x for row in question["table"] for x in row] + question["weights"]
    words = sha256("".join(f"{word}\n" for word in question["vocabulary"]).encode()).digest()
    return words, sha256(head.encode() + words + struct.pack(f"<{len(numbers)}q", *numbers)).digest()


def build():
    from tests.naive import codebook, whole_document

    rng, v = np.random.default_rng(30), len(WORDS)
    questions = [
        {"kind": "words", "place": 0, "vocabulary": WORDS, "table": [[]] * v, "weights": []},
        {"kind": "squares", "place": 1, "vocabulary": WORDS,
         "table": rng.integers(-3000, 3000, size=(v, 4)).tolist(), "weights": []},
        {"kind": "topics", "place": 2, "vocabulary": WORDS,
         "table": rng.integers(1, 2**30, size=(v, 3)).tolist(), "weights": rng.integers(1, 2**14, size=v).tolist()},
    ]  # fmt: skip
    out = []
    for question in questions:
        n, m, member, other = CHANNELS[question["kind"]]
        known, name = digest_of(question)
        for words in ([], [3], [0, 3, 3, 8], list(range(v))):
            number, raw = rng.bytes(16), rng.bytes(1200)
            own = sorted(set(words))
            if question["kind"] == "words":
                vector = [int(w in own) for w in range(v)]
            elif question["kind"] == "squares":
                vector = [sum(question["table"][w][k] for w in own) for k in range(4)]
            else:
                told = whole_document.responsibilities(own, question["table"], question["weights"], 0.05, 20)
                vector = [int(np.floor(told.get((w, k), 0) + 0.5)) for w in range(v) for k in range(3)]
            two_sided = question["kind"] == "squares"
            scores = codebook.scores(vector, n, name, number)
            numbers = iter(struct.unpack(f"<{len(raw) // 4}I", raw))
            sent = codebook.report(scores, m, member, other, numbers, two_sided)
            head = struct.pack("<4sBB2sIIQII", b"DSCW", 1, 2 * two_sided, bytes(2), n, m, member, other, sent)
            out.append(
                {
                    "question": question,
                    "channel": {
                        "codewords": n,
                        "chosen": m,
                        "member": member,
                        "other": other,
                        "twoSided": two_sided,
                    },
                    "words": words,
                    "number": number.hex(),
                    "random": raw.hex(),
                    "vector": vector,
                    "place": whole_document.question_of(number, (0.4, 0.1, 0.5)),
                    "report": (head + known + name + number).hex(),
                }
            )
    return out


if __name__ == "__main__":
    PATH.write_text(json.dumps(build(), ensure_ascii=False) + "\n")
