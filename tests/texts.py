"""Reads the texts of the pages, rendered as a page below the root includes them."""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = ROOT / "assets" / "templates"
FILES = sorted(path.relative_to(TEMPLATES).as_posix() for path in (TEMPLATES / "content").rglob("*.html"))
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Fragment(HTMLParser):
    """What one file holds."""

    file: str
    open: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    links: list[dict[str, str | None]] = field(default_factory=list)
    headings: list[int] = field(default_factory=list)
    figures: list[tuple[str, str]] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the rendered file, as a page two levels down would include it."""
        super().__init__(convert_charrefs=True)
        environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
        self.feed(environment.get_template(self.file).render(root="../"))
        self.close()
        self.problems += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tests ask for."""
        values = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag in {"html", "head", "body", "script", "style", "img", "iframe", "link", "form"}:
            self.problems.append(f"<{tag}> has no place in a text")
        if tag == "a":
            self.links.append(values)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "data":
            self.figures.append((values.get("value") or "", ""))
        if tag == "th" and values.get("scope") not in {"row", "col"}:
            self.problems.append("a <th> without scope")
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.references += [value for name, value in attrs if name == "aria-labelledby" and value]

    def handle_endtag(self, tag: str) -> None:
        """Check that tags nest."""
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes another element")

    def handle_data(self, data: str) -> None:
        """Keep figures and prose apart."""
        if self.open and self.open[-1] == "data":
            self.figures[-1] = (self.figures[-1][0], data)
        if not {"code", "math"} & set(self.open):
            self.prose.append(data)

    @property
    def text(self) -> str:
        """All that is read, without code and formulas."""
        return "\n".join(self.prose)


@lru_cache(maxsize=1)
def fragments() -> dict[str, Fragment]:
    """Every text, read once."""
    return {name: Fragment(name) for name in FILES}
