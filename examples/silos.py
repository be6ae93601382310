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
# # Silos
# Six wards keep their notes. Each adds noise of its own before a masked sum leaves, and nobody sees a single
# ward's numbers.

# %%
import runpy

import numpy as np

from discreet import Corpus, FederatedLDA
from discreet.corpus import Tokenizer
from discreet.evaluate import coherence_npmi

notes = runpy.run_path("../docs/tutorial/hospital.py")["notes"]()
texts = [row["note"] for row in notes]
ward_of = np.array([row["ward"] for row in notes])

# %% [markdown]
# All must count the same words, so the list has to be public. Here the sentences of the generator are no secret.

# %%
words = Corpus.from_texts(texts, tokenizer=Tokenizer(stop_words="english")).vocabulary
counts = Corpus.from_texts(texts, vocabulary=words, words_are_public=True).counts
silos = [counts[np.flatnonzero(ward_of == ward)] for ward in np.unique(ward_of)]
[silo.shape for silo in silos]

# %% [markdown]
# Played in one process, to choose settings; over Flower the same functions run in each silo. One note is what is
# protected.

# %%
model = FederatedLDA(12, epsilon=4, delta=1e-6).fit(silos)
model.release_.guarantee

# %%
for topic in np.argsort(-model.topic_word_, axis=1)[:, :6]:
    print(" ".join(words[word] for word in topic))

# %% [markdown]
# What each silo booked, how many bytes went to and fro, and what the same costs without noise.

# %%
print(len(model.client_ledgers_), model.state_.traffic)
without = FederatedLDA(12, epsilon=np.inf, random_state=0).fit(silos)
coherence_npmi(model.topic_word_, counts), coherence_npmi(without.topic_word_, counts)
