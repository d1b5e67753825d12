"""There are no processes in a browser: the constants that asyncio reads."""

PIPE, STDOUT, DEVNULL = -1, -2, -3


class SubprocessError(Exception):
    """As in the library."""


class Popen:
    """Cannot be made."""

    def __init__(self, *_: object, **__: object) -> None:
        """Say no."""
        raise OSError("no processes in a browser")
