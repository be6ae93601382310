"""`discreet silo`: what a silo needs to take part in a sum, and runs itself."""

from pathlib import Path
from typing import Annotated

import typer

import discreet
from discreet.cli.options import Texts, all_but, declared
from discreet.corpus import load_vocabulary
from discreet.errors import ParameterError

app = typer.Typer(
    no_args_is_help=True,
    help="Take part in training topics across silos, running nothing that a server sends.",
)


class _OfSilo(Texts):
    names = all_but("lowercase", "persons", "labels")


def digest(vocabulary: Path) -> None:
    """Print the digest of a vocabulary, to be agreed with the other silos.

    VOCABULARY: The public words, one per line.
    """
    from discreet.federated.account import vocabulary_digest

    typer.echo(vocabulary_digest(load_vocabulary(vocabulary)))


def serve(
    *,
    counts: Path,
    vocabulary: Path,
    ledger: Path,
    expect: Path,
    superlink: str,
    epsilon: float,
    delta: float = 1e-6,
    how: _OfSilo,
    root_certificates: Path | None = None,
    node_key: Path | None = None,
    insecure: bool = False,
    beat: Annotated[float, {"min": 0}] = 2.0,
    confirm: bool = False,
) -> None:
    """Answer a SuperLink with this program and these options alone; run no app that it sends.

    --epsilon and --delta are the budget of the ledger, a new one or that in the file. The counts are read and checked
    before the silo connects; what is sent of them is booked first.

    --counts: The silo's counts or texts, in any format that `fit` reads.
    --vocabulary: The public words, one per line: the same file for all who take part.
    --ledger: The silo's ledger; made if there is none.
    --expect: JSON list of the tasks that were agreed with the other silos.
    --superlink: Address and port of Flower's SuperLink.
    --root-certificates: Certificate of the authority that vouches for the SuperLink.
    --node-key: This node's private key (elliptic curve, OpenSSH's form).
    --insecure: No TLS: for tests on one machine.
    --beat: Seconds: answers leave at whole beats, so that their time tells little of the counts.
    --confirm: Show the roster's digest, and wait until it is confirmed, before paying.
    """
    from discreet.federated.account import UNIT, vocabulary_digest
    from discreet.federated.silo import Silo, read_tasks, serve

    if root_certificates is None and not insecure:
        raise ParameterError("give --root-certificates, or --insecure on one machine for tests.")
    tasks = read_tasks(expect)
    words = load_vocabulary(vocabulary)
    found = vocabulary_digest(words)
    for number, task in enumerate(tasks, 1):
        if task.get("vocabulary", found) != found or task.get("n_words", len(words)) != len(words):
            raise ParameterError(
                f"task {number} is about other words than {vocabulary}, whose digest is {found}."
            )
    unit, relation = UNIT
    known = how.format_of(counts)
    corpus = discreet.read_corpus(counts, known, vocabulary=words, **how.options(known, stop_words=None))
    kept = discreet.Ledger.open(ledger, epsilon, delta, privacy_unit=unit, neighboring=relation)
    silo = Silo(corpus, kept, tasks, confirm=_ask if confirm else None, folder=f"{kept.path}.sessions")
    typer.echo(f"vocabulary {found[:16]}..., {len(tasks)} tasks; asking {superlink}", err=True)
    serve(silo, superlink=superlink, root_certificates=root_certificates, node_key=node_key, beat=beat)


for _command in (digest, serve):
    app.command()(declared(_command))


def _ask(digits: str, client: int, n_clients: int) -> bool:
    typer.echo(f"This silo is number {client + 1} of {n_clients}. The roster: {digits}", err=True)
    question = f"Do all silos read the same digits, and does each number from 1 to {n_clients} belong to another silo?"
    return typer.confirm(question, default=False, err=True)
