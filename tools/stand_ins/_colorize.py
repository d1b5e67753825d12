"""No colours: what ``traceback`` asks while it writes an exception."""


class _Plain:
    def __getattr__(self, name: str) -> "_Plain":
        return self

    def __str__(self) -> str:
        return ""

    def __format__(self, _: str) -> str:
        return ""

    def __add__(self, other: str) -> str:
        return other

    __radd__ = __add__


ANSIColors = _Plain()


def can_colorize(**_: object) -> bool:
    """No."""
    return False


def get_theme(**_: object) -> _Plain:
    """A theme whose every colour is nothing."""
    return ANSIColors
