"""`discreet vectors`: cut a large file of word vectors down to the words that are needed."""

from pathlib import Path

from discreet.cli.options import check_output_file


def vectors(file: Path, words: Path, out: Path) -> None:
    """Cut public word vectors down to a list of words.

    FILE is streamed, so it may be larger than memory. The words must be public, or released: the file that is written
    shows which of them have a vector.

    FILE: GloVe, word2vec as text, fastText .vec, or .npz; gzip too.
    --words: Public list of the words to keep, one per line.
    --out: File to write: .npz.
    """
    from discreet.cli.display import console
    from discreet.corpus import load_vocabulary, match_vectors
    from discreet.corpus.word_vectors import file_digest, write_vectors

    check_output_file(out, (".npz",))
    listed = load_vocabulary(words)
    found = match_vectors(file, listed)
    write_vectors(out, listed, found)
    say = console()
    say.print(f"{found.coverage} have a vector of {found.vectors.shape[1]} numbers in {file.name}.")
    say.print(f"{file.name} sha256:{found.digest}")
    say.print(f"{out.name} sha256:{file_digest(out)}")
