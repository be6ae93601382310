"""What invented reports do to the topics of honest ones, and what a collector leaves them.

    python experiments/local/poisoning.py            # writes poisoning.csv; about five minutes of processor time

20,000 documents are drawn from six topics over 300 words and randomised; among them come reports that nobody's
document gave. "Likeness" is that of the worst of the six topics to the fitted one that it is matched with (sum of
square roots of products, 1 is equal). Each line fits four times: to all reports; without those that the collector
refuses (a number of ones out of the channel's reach, for any document and, "told", for documents of at most 40
words); and without those that a fit also sets aside. docs/research/collector.md says what came out.
"""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from discreet.local import BitChannel, LocalLDA, Moments
from discreet.local.collector.invented_reports import plausible_ones, set_aside

N_WORDS, N_DOCUMENTS, N_TOPICS, LENGTH, N_TARGETS = 300, 20_000, 6, 40, 40
FIELDS = (
    "epsilon", "attack", "invented", "refused", "refused_told", "set_aside", "honest_refused_told", "honest_set_aside",
    "likeness", "likeness_refusing", "likeness_refusing_told", "likeness_setting_aside",
)  # fmt: skip


def documents(rng):
    """Presence of words in documents of six topics, and the topics."""
    topics = rng.dirichlet(np.full(N_WORDS, 0.05), N_TOPICS)
    present = np.zeros((N_DOCUMENTS, N_WORDS), bool)
    for row in present:
        row[rng.choice(N_WORDS, LENGTH, p=rng.dirichlet(np.full(N_TOPICS, 0.3)) @ topics)] = True
    return present, topics


def invented(attack, n, channel, targets, usual, rng):
    """Reports that nobody's document gave: most of these attacks want the target words to be a topic."""
    bits = np.zeros((n, N_WORDS), np.uint8)
    others = np.setdiff1d(np.arange(N_WORDS), targets)
    if attack == "all ones":
        bits[:] = 1
    elif attack == "as many ones as any document gives":
        bits[:, rng.permutation(N_WORDS)[: plausible_ones(channel, N_WORDS)[1]]] = 1
    elif attack == "every second word":
        bits[:, ::2] = 1
    elif attack == "the same report, as many ones as usual":
        bits[:, targets] = 1
        bits[:, rng.choice(others, usual - N_TARGETS, replace=False)] = 1
    elif attack == "target words, the rest honest noise":
        bits[:] = rng.random(bits.shape) < float(channel.q)
        bits[:, targets] = 1
    elif attack == "invented documents, honestly randomised":
        present = np.isin(np.arange(N_WORDS), targets)
        bits[:] = rng.random(bits.shape) < np.where(present, float(channel.p), float(channel.q))
    return bits


ATTACKS = (
    "none", "all ones", "as many ones as any document gives", "every second word",
    "the same report, as many ones as usual", "target words, the rest honest noise",
    "invented documents, honestly randomised",
)  # fmt: skip


def likeness(moments, topics, channel):
    model = LocalLDA(N_TOPICS, channel=channel, refine=False, random_state=0, allow_unlearnable=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.sqrt(model.fit_moments(moments).release_.topic_word) @ np.sqrt(topics).T
    rows, columns = linear_sum_assignment(-found)
    return float(found[rows, columns].min())


def main():
    rng = np.random.default_rng(3)
    present, topics = documents(rng)
    targets = np.argsort(present.sum(0))[:N_TARGETS]
    with (Path(__file__).parent / "poisoning.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, FIELDS)
        out.writeheader()
        for epsilon in (1.0, 2.0):
            channel = BitChannel.symmetric(epsilon)
            honest = (
                rng.random(present.shape) < np.where(present, float(channel.p), float(channel.q))
            ).astype(np.uint8)
            usual = int(np.median(honest.sum(1)))
            for attack in ATTACKS:
                for n in (0,) if attack == "none" else (100, 400):
                    bits = np.vstack([honest, invented(attack, n, channel, targets, usual, rng)])
                    line = {"epsilon": epsilon, "attack": attack, "invented": n}
                    line |= measure(bits, topics, channel)
                    out.writerow(line)
                    file.flush()
                    print(line, file=sys.stderr)


def measure(bits, topics, channel):
    ones = bits.sum(1)

    def within(most_words):
        fewest, most = plausible_ones(channel, N_WORDS, most_words=most_words)
        return (fewest <= ones) & (ones <= most)

    def moments(kept):
        return Moments(N_WORDS, channel=channel).add_batch(bits[kept])

    plain, told = within(None), within(LENGTH)
    packed = np.packbits(bits, axis=1, bitorder="little")
    usual = set_aside(moments(plain), lambda: [packed[plain]], channel)
    honest = np.flatnonzero(plain[:N_DOCUMENTS])
    alone = set_aside(moments(honest), lambda: [packed[honest]], channel)
    return {
        "refused": int((~plain).sum()),
        "refused_told": int((~told).sum()),
        "set_aside": usual.n_set_aside,
        "honest_refused_told": int((~told[:N_DOCUMENTS]).sum()),
        "honest_set_aside": alone.n_set_aside,
        "likeness": round(likeness(moments(ones >= 0), topics, channel), 3),
        "likeness_refusing": round(likeness(moments(plain), topics, channel), 3),
        "likeness_refusing_told": round(likeness(moments(told), topics, channel), 3),
        "likeness_setting_aside": round(likeness(usual.moments, topics, channel), 3),
    }


if __name__ == "__main__":
    main()
