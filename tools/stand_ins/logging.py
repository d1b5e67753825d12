"""Loggers that write warnings and errors to stderr, which is the browser's console."""

import sys

DEBUG, INFO, WARNING, ERROR, CRITICAL = 10, 20, 30, 40, 50


class Logger:
    """What asyncio and ``concurrent.futures`` ask of a logger."""

    def __init__(self, name: str) -> None:
        """Keep the name."""
        self.name = name

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the library's name
        """Whether a message of this level is written."""
        return level >= WARNING

    def log(self, level: int, message: object, *args: object, exc_info: object = None, **_: object) -> None:
        """Write a message, with the exception that it is about."""
        if self.isEnabledFor(level):
            print(self.name, str(message) % args if args else message, exc_info or "", file=sys.stderr)

    def debug(self, message: object, *args: object, **more: object) -> None:
        """Write nothing."""

    info = debug

    def warning(self, message: object, *args: object, **more: object) -> None:
        """Write a warning."""
        self.log(WARNING, message, *args, **more)

    def error(self, message: object, *args: object, **more: object) -> None:
        """Write an error."""
        self.log(ERROR, message, *args, **more)

    exception = critical = error


def getLogger(name: str = "root") -> Logger:  # noqa: N802 - the library's name
    """Return a logger."""
    return Logger(name)
