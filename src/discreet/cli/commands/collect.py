"""`discreet collect`: a service that takes randomised reports and fits topics to them."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from discreet.cli.commands.perturb import Per, make_channel
from discreet.cli.options import CountOrNone
from discreet.errors import DiscreetError, ParameterError

if TYPE_CHECKING:
    from discreet.local import BitChannel


def collect(
    *,
    store: str,
    vocabulary: Path | None = None,
    question: Path | None = None,
    channel: str | None = None,
    epsilon: float | None = None,
    per: Per = Per.REPLACEMENT,
    words: CountOrNone = None,
    host: str = "127.0.0.1",
    port: Annotated[int, {"min": 0, "max": 65535}] = 8080,
    tokens: Path | None = None,
    tickets: Path | None = None,
    most_words: CountOrNone = None,
    keep_days: CountOrNone = None,
    origin: list[str] | None = None,
    server_name: list[str] | None = None,
) -> None:
    """Take reports over HTTP, keep each exactly once, and show topics, or the question that is asked.

    A report is on the disk before it is acknowledged. GET / is a page, GET /status, /topics and /healthz are for
    programs. Everybody who reaches the address may read these; with --tokens or --tickets only their holders send.
    Both files may be edited while the service runs.

    --store: SQLite file that keeps the reports, made where there is none.
    --vocabulary: The public words, one a line, as the writers have them.
    --question: Publish this question about whole documents, from `discreet ask`, and take answers to it; in the place
        of --vocabulary and channel.
    --channel: The writers' channel as 2^32 p,2^32 q[,limit], whole numbers; or give --epsilon.
    --epsilon: Privacy loss, as for perturb. Positive.
    --per: What epsilon is the loss of, as for perturb.
    --words: Words of a document, as for perturb.
    --host: Address to listen on; only this machine reaches the default.
    --port: 0 takes a free one.
    --tokens: File of tokens, one a line: who may send, any number of times.
    --tickets: File of one-time tickets, one a line: each admits one report.
    --most-words: Words of the vocabulary that no document has more of: reports with more ones than such a document
        gives are refused.
    --keep-days: Days after which, at the latest, a report is deleted and topics are made without it.
    --origin: Web page origin whose scripts may send reports, such as https://example.org.
    --server-name: Name that the service is reached by, such as collect.example.org; addresses always are good.
    """
    from discreet.corpus import load_vocabulary
    from discreet.local.whole_document.questions import PublishedQuestion

    if tokens is not None and tickets is not None:
        raise ParameterError("give --tokens or --tickets, not both.")
    for page in origin or ():
        if not re.fullmatch(r"https?://[^/\s]+", page):
            raise ParameterError(
                f"--origin must be scheme and host of a page, such as https://example.org, but is {page!r}."
            )
    names = (*(server_name or ()), *(() if re.fullmatch(r"[0-9.]*|.*:.*", host) else (host,)))
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
            raise ParameterError(
                f"--server-name must be a name without scheme and port, such as collect.example.org, but is {name!r}."
            )
    if (vocabulary is None) == (question is None):
        raise ParameterError("give --vocabulary and the writers' channel, or --question; one of them.")
    chosen: BitChannel | PublishedQuestion
    if question is not None:
        if channel is not None or epsilon is not None or most_words is not None:
            raise ParameterError(
                "--question has its own channel; leave out --channel, --epsilon and --most-words."
            )
        chosen = PublishedQuestion.read(question)
        known = chosen.question.vocabulary
        promise = chosen.guarantee
    else:
        assert vocabulary is not None
        known = tuple(load_vocabulary(vocabulary))
        chosen = _channel(channel, epsilon, per, words, len(known))
        promise = chosen.guarantees(len(known)).in_words()
    try:
        from discreet.local.collector.app import make_app, run_server
    except ImportError as error:
        raise DiscreetError(
            f"`discreet collect` needs {error.name}: pip install 'discreet[collector]'."
        ) from None
    from discreet.local.collector.access import Secrets
    from discreet.local.collector.store import ReportStore

    listed = tickets if tokens is None else tokens
    admission = None if listed is None else Secrets(listed, once=tokens is None)
    with ReportStore(store, known, chosen, keep_days=keep_days) as kept:
        print(promise, flush=True)
        app = make_app(
            kept,
            admission=admission,
            most_words=most_words,
            origins=tuple(origin or ()),
            names=names,
        )
        run_server(app, host, port)


def _channel(
    channel: str | None, epsilon: float | None, per: Per, words: int | None, n_words: int
) -> "BitChannel":
    from discreet.local import BitChannel

    if (channel is None) == (epsilon is None):
        raise ParameterError(
            "say how the writers randomise: --channel p,q[,limit] or --epsilon; one of them."
        )
    if channel is not None:
        parts = channel.split(",")
        if len(parts) not in (2, 3) or not all(part.strip().isdecimal() for part in parts):
            raise ParameterError(
                f"--channel must be two or three whole numbers, 2^32 p,2^32 q[,limit], but is {channel!r}."
            )
        p, q, limit = [*map(int, parts), 0][:3]
        return BitChannel(p, q, limit or None)
    assert epsilon is not None
    return make_channel(epsilon, per, words, n_words)
