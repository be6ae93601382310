"""Files that list something: one reader, whatever editor saved them."""

import pytest

from discreet import ParameterError
from discreet._base.files import list_lines, read_list
from discreet.cli import shares as by
from discreet.corpus import Tokenizer, load_vocabulary
from discreet.local.collector.access import Secrets

MARKED = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    "content", [MARKED + b"north\r\n\r\n south \r\n", b"north\n\nsouth", MARKED + b"north\n\n south"]
)
def test_what_notepad_saves_is_what_others_save(tmp_path, content):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    assert read_list(path, "groups") == ["north", "south"]
    assert list_lines(path, "edits") == ["north", "", "south"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"secretword caf\xe9\n", "must be UTF-8 text, one entry per line; save it as UTF-8"),
        ("secretword".encode("utf-16"), "must be UTF-8 text"),
        ("secretword".encode("utf-16-le"), "must be UTF-8 text"),
        (b"a\n" * 2**23 + b"b", "too large"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_list_is_refused_without_a_word_of_it(tmp_path, content, said):
    path = tmp_path / "list.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ParameterError, match=said) as found:
        read_list(path, "groups")
    assert str(found.value).startswith(f"groups: {path} ")
    assert "secretword" not in repr((str(found.value), found.value.__context__))


def test_the_first_entry_is_no_other_for_the_mark_before_it(tmp_path):
    """A group that nobody is in, a stop word that stays, a token that admits nobody."""
    path = tmp_path / "list.txt"
    path.write_bytes(MARKED + b"north\r\nsouth\r\n")
    assert by.InGroups(path).shares_of(None, epsilon=1.0).groups == ["north", "south"]
    assert Tokenizer(stop_words=path)("north south west") == ["west"]
    assert load_vocabulary(path) == ("north", "south")
    path.write_bytes(MARKED + b"a-secret-of-sixteen\r\n")
    assert Secrets(path).admits("a-secret-of-sixteen") is not None
