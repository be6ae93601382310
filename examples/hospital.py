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
# # The hospital
# Made-up notes of 8,000 patients: topics, a review, and how the wards differ, on one budget. The same on the
# command line is the
# tutorial, `docs/tutorial/hospital.md`.

# %%
import runpy
from pathlib import Path

from discreet import Ledger, TopicPrevalence, fit_topics, read_corpus

runpy.run_path("../docs/tutorial/hospital.py")["write"](Path("notes.csv"))
corpus = read_corpus("notes.csv", text="note", person="patient", label="ward", stop_words="english")
corpus

# %% [markdown]
# The budget of everything that will ever be published about these notes, kept in a file.

# %%
ledger = Ledger.open("budget.json", epsilon=2.1, delta=1e-6, privacy_unit="person", unit_name="patient")
release = fit_topics(corpus, epsilon=2, n_topics=12, privacy_unit="person", ledger=ledger)
release.top_words(8)

# %% [markdown]
# Names that many patients wrote are not hidden. The list of staff is public, so looking for its names costs nothing.

# %%
staff = {name.lower() for name in Path("staff.txt").read_text().split()}
reviewed = release.without_words(sorted(staff & set(release.vocabulary))).with_review(
    "Data protection office"
)
reviewed.review

# %% [markdown]
# Shares of topics by ward, on the same ledger, with intervals.

# %%
wards = Path("wards.txt").read_text().split()
notes = read_corpus("notes.csv", text="note", person="patient", label="ward", vocabulary=reviewed.vocabulary)
prevalence = TopicPrevalence(reviewed, wards, epsilon=0.5, privacy_unit="person", ledger=ledger)
shares = prevalence.fit(notes, by=notes.labels).release_
shares.to_frame()

# %%
print(shares.guarantee)
ledger

# %%
shares.to_html("wards.html")
reviewed.to_html("report.html")
