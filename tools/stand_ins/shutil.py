"""Pyodide unpacks no packages here: what its loader imports."""


def unpack_archive(*_: object, **__: object) -> None:
    """Say no."""
    raise OSError("packages are not unpacked here")


_make_zipfile = _unpack_zipfile = unpack_archive


def register_archive_format(*_: object, **__: object) -> None:
    """Forget it."""


register_unpack_format = register_archive_format
