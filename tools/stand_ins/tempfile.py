"""No temporary files: what Pyodide's loader of packages imports."""


def NamedTemporaryFile(*_: object, **__: object) -> None:  # noqa: N802 - the library's name
    """Say no."""
    raise OSError("no temporary files here")
