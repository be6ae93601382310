"""`discreet evaluate`: how good a release is, on documents that it has not seen.

Without ``--epsilon`` every figure is an exact statistic of them; with it there is one, with noise, that may leave.
"""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.files import check_release_file, delta_on, ledger_for, name_of_unit, save_with_card
from discreet.cli.options import OfRelease, Texts, refuse_given
from discreet.corpus import Corpus, Tokenizer
from discreet.corpus.formats.table import TEXT_FORMATS, find_format
from discreet.errors import CorpusError, PrivacyError, ReleaseError

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.release import Release

#: Which halves of documents are scored.
_HALVES = 0
#: Words of each topic that coherence looks at.
_TOP = 10
_PRIVATE = (
    "These figures are exact statistics of the documents. If those are private, look at them and keep them: "
    "no ledger covers them."
)


def evaluate(
    model: Path,
    corpus: Path,
    *,
    how: OfRelease,
    vocabulary: Path | None = None,
    label: str | None = None,
    reference: Path | None = None,
    reference_is_public: bool = False,
    word_vectors: Path | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    person: str | None = None,
    ledger: Path | None = None,
    out: Path | None = None,
    json_: bool = False,
    quiet: bool = False,
) -> None:
    """Measure a release on held-out documents: perplexity, diversity, coherence, labels.

    These are exact figures, to look at and to keep. With --epsilon: by how much topics beat word frequencies alone,
    with noise, booked, for the report.

    --vocabulary: The word of each column, one per line (counts).
    --reference: Public corpus in which coherence is counted; its texts are read like those of CORPUS.
    --reference-is-public: Say that the reference corpus is public.
    --epsilon: Measure privately: one noisy figure with its interval, which may leave.
    --ledger: With --epsilon: file that keeps the budget, such as that of the topics.
    --out: With --epsilon: new file for the release: .json.
    """
    from discreet.cli.display import console, print_json, progress
    from discreet.release import Release

    exact = {"--reference": reference, "--word-vectors": word_vectors, "--label": label}
    if epsilon is not None:
        refuse_given(
            exact,
            "needs exact figures of the documents, and --epsilon books one noisy one; leave it out, or leave --epsilon "
            "out and keep the figures.",
        )
    else:
        noisy = {"--ledger": ledger, "--out": out, "--person": person}
        refuse_given(noisy, "for figures with noise; say --epsilon, too.")
    if out is not None:
        check_release_file(out, ledger)
    if reference is not None and not reference_is_public:
        raise PrivacyError(
            f"coherence in {reference} would be a private statistic that costs budget, and this command books none: "
            "take a public corpus and say --reference-is-public."
        )
    say = console(quiet=quiet)
    release = Release.load(model)
    with progress(quiet=quiet) as callback:
        of_counts = {"vocabulary": vocabulary, "label": label, "person": person}
        held_out = _read(corpus, how, release, **of_counts, callback=callback)
        public = None
        if reference is not None:
            public = _read(reference, _for_reference(how, reference), release, callback=callback)
    if epsilon is not None:
        _measure_privately(release, held_out, (epsilon, delta, ledger), out, json_, say)
        return
    answer = _measure(release, held_out, word_vectors, public, str(reference))
    if json_:
        print_json(answer)
    else:
        _show(answer)
    console().print(_PRIVATE)


def _for_reference(how: Texts, reference: Path) -> Texts:
    """Return how the reference is read: as the documents, where it holds texts."""
    if find_format(reference) not in TEXT_FORMATS:
        return Texts()
    found = Texts(how.text)
    found.given.update({name: value for name, value in how.given.items() if name != "format"})
    return found


def _measure_privately(
    release: "Release",
    documents: Corpus,
    budget: tuple[float, float | None, Path | None],
    out: Path | None,
    json_: bool,
    say: "Console",
) -> None:
    """Release how good the model is, and say so."""
    from discreet.central import PrivateFit
    from discreet.cli.display import print_json

    epsilon, delta, ledger = budget
    unit = documents.unit
    book = ledger_for(ledger, documents, epsilon, delta, unit, name_of_unit(unit, release))
    model = PrivateFit(
        release, epsilon=epsilon, delta=delta_on(book, delta), privacy_unit=unit, n_jobs=-1, ledger=book
    )
    made = model.fit(documents.restrict(release.vocabulary)).release_
    if out is not None:
        save_with_card(made, out)
    if json_:
        names = ("guarantee", "perplexity_ratio", "gain", "perplexity", "unigram_perplexity", "n_units")
        figures = {name: getattr(made, name) for name in names}
        figures |= dict(zip(("low", "high"), made.interval(), strict=True))
        figures |= {name: getattr(made, name)() for name in ("perplexity_interval", "unigram_interval")}
        print_json(figures)
    else:
        typer.echo(made.in_words())
    say.print(made.guarantee)
    if out is not None:
        say.print(f"wrote {out} and its card; show it with: discreet report MODEL --fit {out}")


def _read(path: Path, how: Texts, release: "Release", **options: Any) -> Corpus:
    """Read documents with all their words, so that those the model does not know can be counted."""
    from discreet._base.arrays import column_words
    from discreet.cli.files import load

    known = how.format_of(path)
    if known in TEXT_FORMATS and options.get("vocabulary") is not None:
        raise CorpusError("--vocabulary names the columns of counts; words of raw text need no list.")
    cutting = how.options(known, stop_words=_stop_words_for(release), release=release)
    documents, _ = load(path, known, **cutting, **options)
    if documents.vocabulary == column_words(documents.n_words):
        raise CorpusError(
            f"{path} does not say which word each column is; give --vocabulary, one word a line."
        )
    return documents


def _stop_words_for(release: "Release") -> str | None:
    """Return the usual stop words, for a release that names none of its own.

    None where it names some, or has some of the usual ones: then it was fitted to texts that kept them.
    """
    if "stop_words" in release.configuration:
        return None  # those that it names are left out
    usual, every = Tokenizer(stop_words="auto"), Tokenizer(stop_words=None)
    kept = any(word in every(word) and word not in usual(word) for word in release.vocabulary)
    return None if kept else "auto"


def _matched(release: "Release", documents: Corpus, path: str) -> tuple[Corpus, dict[str, int]]:
    """Keep the model's words, in the model's order, and count what was dropped."""
    matched = documents.restrict(release.vocabulary)
    known, kept = set(release.vocabulary), matched.n_tokens
    if kept == 0:
        raise CorpusError(f"{path} holds none of the model's words; is it the right corpus?")
    unknown = sum(word not in known for word in documents.vocabulary)
    sizes = {
        "documents": documents.n_documents,
        "tokens": kept,
        "tokens_dropped": documents.n_tokens - kept,
        "words_unknown": unknown,
    }
    return matched, sizes


def _measure(
    release: "Release", documents: Corpus, vectors: Path | None, public: Corpus | None, name: str
) -> dict[str, Any]:
    """Return all figures: exact statistics of the documents, and of the reference where there is one."""
    from discreet import evaluate as measures

    topics, weight = release.topic_word, release.topic_weight
    inferred: dict[str, Any] = {"n_jobs": -1, "doc_topic_prior": release.doc_topic_prior}
    matched, sizes = _matched(release, documents, "--corpus")

    def perplexity(of: Any, **how: Any) -> float:
        return measures.completion_perplexity(of, matched, **({"random_state": _HALVES, "n_jobs": -1} | how))

    answer: dict[str, Any] = {"guarantee": release.guarantee, "topics": len(topics), "corpus": sizes}
    answer["completion_perplexity"] = perplexity(topics, **inferred)
    if weight is not None:
        answer["unigram_of_release"] = perplexity((weight @ topics)[None])
    answer["unigram_of_corpus"] = perplexity(measures.unigram(matched))
    answer["transductive_perplexity"] = measures.transductive_perplexity(topics, matched, **inferred)
    answer["diversity"] = measures.diversity(topics)
    if vectors is not None:  # what they and the release's word frequencies give without its topics
        if release.word_weight is None:
            raise ReleaseError(
                "this release does not say how frequent words are, so --word-vectors have no line here."
            )
        alone = measures.public_topics(vectors, release.vocabulary, len(topics), release.word_weight)
        figure = perplexity(alone, **inferred)
        answer["public_alone"] = {"completion_perplexity": figure, "word_vectors": vectors.name}
    if public is not None:
        counted, sizes = _matched(release, public, "--reference")
        answer["reference"] = {
            "name": name,
            **sizes,
            "top": _TOP,
            "coherence_npmi": measures.coherence_npmi(topics, counted, top=_TOP),
            "coherence_umass": measures.coherence_umass(topics, counted, top=_TOP),
        }
    if matched.labels is not None:
        train, test = matched.split(0.5, random_state=_HALVES)
        assert train.labels is not None
        assert test.labels is not None
        report = measures.classification_report(topics, train, train.labels, test, test.labels, **inferred)
        answer["labels"] = {"documents_tested": test.n_documents, **dataclasses.asdict(report)}
    return answer


#: What the table says of each figure: of one that belongs to a part of the answer, with what stands there.
_LINES = {
    "completion_perplexity": ("perplexity, half of a document given the other", ".1f", "lower"),
    "unigram_of_release": ("  the release's word frequencies alone", ".1f", "to beat"),
    "unigram_of_corpus": ("  this corpus' own word frequencies alone", ".1f", "to beat"),
    "public_alone completion_perplexity": (
        "  topics of {word_vectors} alone, without the texts",
        ".1f",
        "to beat",
    ),
    "transductive_perplexity": ("transductive perplexity, for papers only", ".1f", "lower"),
    "diversity": ("diversity of top 25 words", ".3f", "higher"),
    "reference coherence_npmi": ("coherence NPMI, top {top}, in {name}", ".3f", "higher"),
    "reference coherence_umass": ("coherence UMass, top {top}, in {name}", ".1f", "higher"),
    "labels accuracy": ("accuracy of labels ({n_labels}) from topics", ".3f", "higher"),
    "labels baseline_accuracy": ("  always the most frequent label", ".3f", "to beat"),
    "labels macro_f1": ("macro F1 of labels from topics", ".3f", "higher"),
}


def _show(answer: dict[str, Any]) -> None:
    from discreet.cli.display import console_of_results, print_table

    out, sizes = console_of_results(), answer["corpus"]
    dropped = sizes["tokens_dropped"]
    out.print(
        f"{sizes['documents']} documents, {sizes['tokens']} tokens of the model's words; {dropped} tokens of "
        f"{sizes['words_unknown']} other words left out ({dropped / (dropped + sizes['tokens']):.1%})."
    )
    rows: list[tuple[str, str, str]] = []
    for key, (name, form, better) in _LINES.items():
        *part, figure = key.split()
        values = answer.get(part[0], {}) if part else answer
        if figure in values:
            rows.append((name.format(**values), format(values[figure], form), better))
    print_table(out, ("measure", ">value", "better"), rows)
