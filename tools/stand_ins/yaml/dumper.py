"""Nothing is written as YAML here: the names that the package exports."""

__all__ = ["BaseDumper", "Dumper", "SafeDumper"]


class BaseDumper:
    """Not used."""


SafeDumper = Dumper = BaseDumper
