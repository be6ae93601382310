"""What loads on first use, so that importing a room imports neither numba nor dp_accounting, nor a room above it.

Corpora in shards, for rooms that must not know those of shards and engines.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeGuard


def later(home: str, name: str) -> Callable[..., Any]:
    """Return a function of a module, which is looked for when it is first called.

    For the few calls that go up or aside: a release is shown by the room of reports, which stands on releases, and
    models go through shards by engines, of which their floor knows nothing.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(home), name)(*args, **kwargs)

    return call


def lazy_names(room: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for the package ``room``.

    Its public names, and where each is at home, are what the package imports ``if TYPE_CHECKING``: they are read from
    its source, so that type checkers and the interpreter have one table.
    """
    source = Path(str(sys.modules[room].__file__)).read_text(encoding="utf-8")
    imports = [line for block in ast.parse(source).body if isinstance(block, ast.If) for line in block.body]
    home_of = {
        name.name: str(line.module)
        for line in imports
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        module = import_module(home)
        is_module = home == room or not hasattr(module, name)
        value = import_module(f"{home}.{name}") if is_module else getattr(module, name)
        setattr(sys.modules[room], name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[room]), *home_of})

    return load, listed


#: ``run_over_shards(shards, read, engine, n_jobs)``: :class:`discreet.engines.engine.ShardRunner`.
run_over_shards = later("discreet.engines.engine", "ShardRunner")


def is_sharded(X: Any) -> TypeGuard[Any]:
    """Whether documents lie in shards: known by what their class has, for a frame has any column."""
    return hasattr(type(X), "shards")
