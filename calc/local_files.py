"""Model files on this computer, for the command line: the only place of the package that opens a file.

Only headers are read, as many bytes as the doors ask for. Files that belong together are found beside the one that was
named: the configuration of a checkpoint, the parts of an index, the other parts of a split GGUF, an adapter's pair.
"""

import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from calc.checkpoint import FIRST_READ, InvalidFile, NeedMoreBytes, shown_name
from calc.errors import InvalidInput
from calc.model_file import OpenedModel, Piece, assemble, read_file
from calc.safetensors import Index

_SPLIT = re.compile(r"(.*-)(\d{5})(-of-)(\d{5})(\.gguf)", re.DOTALL)
INDEX = "model.safetensors.index.json"
MAX_PARTS = 1000


def open_models(paths: Iterable[str]) -> tuple[OpenedModel, ...]:
    """The models in these files or folders, with what lies beside them.

    Raises:
        InvalidInput: ``unreadable_file`` for a path that is no file, ``no_model_files`` for a folder without any.
        InvalidFile: for a damaged file, ``InvalidConfig`` for a damaged configuration.
    """
    found: dict[Path, Piece] = {}
    models: list[OpenedModel] = []
    for text in paths:
        group = {path: _piece(path) for path in _wanted(text) if path not in found}
        for path in [other for piece in list(group.values()) for other in _named_by(piece, Path(text))]:
            if path not in group and path not in found:
                group[path] = _piece(path)
        found |= group
        models += assemble(list(group.values())) if group else ()
    return tuple(models)


def _wanted(text: str) -> Iterator[Path]:
    """The file itself and its siblings; of a folder, what a model is made of."""
    path = Path(text)
    try:
        if path.is_dir():
            yield from _in_folder(path)
            return
    except (OSError, ValueError):
        raise InvalidInput("unreadable_file", place="file", value=shown_name(text)) from None
    yield path
    beside: tuple[str, ...] = ()
    if path.name.startswith("adapter_model") and path.suffix == ".safetensors":
        beside = ("adapter_config.json",)
    elif path.name == "adapter_config.json":
        beside = ("adapter_model.safetensors",)
    elif path.name == INDEX or re.fullmatch(r"model(-\d{5}-of-\d{5})?\.safetensors", path.name):
        beside = ("config.json",)
    yield from (path.with_name(name) for name in beside if path.with_name(name).is_file())
    split = _SPLIT.fullmatch(path.name)
    if split and int(split[4]) <= MAX_PARTS:
        names = (f"{split[1]}{number:05d}{split[3]}{split[4]}{split[5]}" for number in range(1, int(split[4]) + 1))
        yield from (path.with_name(name) for name in names if name != path.name and path.with_name(name).is_file())


def _in_folder(folder: Path) -> Iterator[Path]:
    adapter = [folder / name for name in ("adapter_config.json", "adapter_model.safetensors")]
    model = [folder / "config.json", folder / INDEX]
    if not model[1].is_file():
        model[1:] = sorted(folder.glob("model*.safetensors"))
    files = [path for path in (*adapter, *model) if path.is_file()] or sorted(folder.glob("*.gguf"))[:MAX_PARTS]
    if not files:
        raise InvalidInput("no_model_files", place="file", value=shown_name(folder.name or str(folder)))
    yield from files


def _named_by(piece: Piece, path: Path) -> Iterator[Path]:
    """Parts that an index names and that lie beside it; a name with folders in it is not looked at."""
    if not isinstance(piece.content, Index):
        return
    folder = path if path.is_dir() else path.parent
    for name in sorted(set(piece.content.weight_map.values()))[:MAX_PARTS]:
        if Path(name).name == name and (folder / name).is_file():
            yield folder / name


def _piece(path: Path) -> Piece:
    """The header of one file, read in as few steps as its door asks for."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidInput("unreadable_file", place="file", value=shown_name(str(path)))
        size = path.stat().st_size
        with path.open("rb") as file:
            data = file.read(FIRST_READ)
            while True:
                try:
                    return read_file(path.name, data, size)
                except NeedMoreBytes as more:
                    rest = file.read(more.length - len(data))
                    if not rest:
                        raise InvalidFile(
                            "truncated", place="header", needed=more.length, bytes=len(data), file=shown_name(path.name)
                        ) from None
                    data += rest
    except (OSError, ValueError):
        raise InvalidInput("unreadable_file", place="file", value=shown_name(str(path))) from None
