# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Local reports
# Nobody but the writer sees a text: each device sends one report of randomised bits, once.

# %%
import runpy

import numpy as np

from discreet import Corpus, LocalLDA
from discreet.local import BitChannel, ReportMemo, read_reports, write_reports
from discreet.privacy import SecureStream

# %% [markdown]
# The words are a public list; the channel says how often a bit is flipped. Four losses belong to it.

# %%
notes = [row["note"] for row in runpy.run_path("../docs/tutorial/hospital.py")["notes"]()]
words = [
    "night",
    "sleep",
    "noise",
    "bed",
    "breakfast",
    "soup",
    "cold",
    "pain",
    "tablets",
    "dose",
    "waited",
    "hours",
    "queue",
    "nurse",
    "kind",
    "midwife",
    "baby",
    "birth",
    "family",
    "visit",
    "children",
    "walking",
    "frame",
    "stairs",
    "operation",
    "surgeon",
    "scar",
    "heart",
    "oxygen",
    "parking",
    "letter",
    "discharge",
]
counts = Corpus.from_texts(notes, vocabulary=words, words_are_public=True).counts
channel = BitChannel.symmetric(3.0)
print(channel.guarantees(len(words)).in_words())

# %% [markdown]
# On a device: a memory of what was sent, so that no text is ever reported twice.

# %%
memo, stream = ReportMemo(), SecureStream()
report = memo.report(channel, counts[0].indices, words, stream, name="my note")
again = memo.report(channel, counts[0].indices, words, stream, name="my note")
assert report.to_bytes() == again.to_bytes()
len(report.to_bytes())

# %% [markdown]
# On the server: reports of all devices, one after the other in a file.

# %%
devices = (
    memo.report(channel, row.indices, words, stream, name=str(number)) for number, row in enumerate(counts)
)
write_reports("reports.bin", devices)
channel, reports = read_reports("reports.bin", vocabulary=words)
model = LocalLDA(8, channel=channel).fit(reports, vocabulary=words)
model.learnable_

# %%
for topic in np.argsort(-model.topic_word_, axis=1)[:, :5]:
    print(" ".join(words[word] for word in topic))

# %%
print(model.release_.guarantee)
