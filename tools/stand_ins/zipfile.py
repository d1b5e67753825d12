"""Pyodide unpacks no packages here: what its loader imports."""


class ZipFile:
    """Cannot be made."""

    def __init__(self, *_: object, **__: object) -> None:
        """Say no."""
        raise OSError("packages are not unpacked here")


BadZipFile = OSError
