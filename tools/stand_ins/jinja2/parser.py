"""Templates are compiled while building: the name that jinja2's environment imports."""


class Parser:
    """Not used."""
