"""The Content-Security-Policy of every page."""

from __future__ import annotations

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "object-src 'none'",
    )
)
"""``worker-src`` needs ``blob:`` for PyScript's worker, which inherits the policy; ``img-src`` needs ``data:`` for the
marks inside Pico's style sheet. A meta element cannot say ``frame-ancestors``."""
