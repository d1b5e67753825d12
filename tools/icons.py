"""Draw the PNG icons of the site from ``assets/icon.svg``, with Chromium: ``python -m tools.icons`` after it changes.

The results are kept in the repository, because two versions of a browser do not draw the same bytes.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import sync_playwright

from tools.chromium import launch

ASSETS = Path(__file__).resolve().parent.parent / "assets"

PLAIN = "svg{width:100%;height:100%}"
"""The drawing as it is, on nothing."""

FILLED = "html{background:#0b6660}body{padding:14%}svg{width:100%;height:100%}.p{stroke:#fff!important}"
"""On the accent colour, inside the circle of 80 % that a mask leaves whole; https://www.w3.org/TR/appmanifest/#icon-masks."""

ICONS = {
    "icon-180.png": (180, FILLED),
    "icon-192.png": (192, PLAIN),
    "icon-512.png": (512, PLAIN),
    "maskable-512.png": (512, FILLED),
}
"""Name -> side in pixels and how it is dressed."""


def main() -> None:
    """Write ``assets/icons/``."""
    drawing = (ASSETS / "icon.svg").read_text(encoding="utf-8")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        for name, (side, style) in ICONS.items():
            page = browser.new_page(viewport={"width": side, "height": side}, color_scheme="light")
            reset = "*{box-sizing:border-box}html,body{margin:0;height:100%}"
            page.set_content(f"<!doctype html><style>{reset}{style}</style>{drawing}")
            page.screenshot(path=ASSETS / "icons" / name, omit_background=True)
        browser.close()


if __name__ == "__main__":
    main()
