"""The Content-Security-Policy of every page, and PyScript made to run under it.

PyScript 0.7.31 turns the text of a hook into a function twice: on the page, to send it to the worker, and there. It
has one such hook, which registers a module; here its code stands in both places instead of the two calls of
``Function``, and nothing of what a visitor's browser runs asks for ``'unsafe-eval'`` any more.
"""

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

RUN = "async(e,t,...n)=>{for(const r of n)await r(e,t)}"
REGISTER = (
    '({interpreter:e})=>{e.registerJsModule("_pyscript",'
    '{fs:{ERROR:"storage permissions not granted",NAMESPACE:"@pyscript.fs"},interpreter:e})}'
)
HOOK = f"(w,x)=>({RUN})(w,x,...[{REGISTER}])"
"""What PyScript makes of its one hook of the worker, ``onBeforeRunAsync``."""

REPLACED = {
    "return Function(`return(w,x)=>(${r})(w,x,...[${s}])`)()": f"return {HOOK}",
    r"It=e=>Function(`\'use strict\';return (${e})`)()": f"It=()=>{HOOK}",
}
"""Text of PyScript that makes a function of a text -> what stands there instead."""

EXPECTED = (RUN, f"onBeforeRunAsync:new So([{REGISTER}])")
"""What must be in PyScript's text for ``HOOK`` to be what it would have made."""


class ChangedUpstream(Exception):
    """PyScript is not the one that this was written for."""


def without_eval(core: str) -> str:
    """Return the text of PyScript's core with its hook in the place of the calls that make one.

    Raises:
        ChangedUpstream: if one of the texts is not there exactly once.
    """
    for text in (*REPLACED, *EXPECTED):
        if core.count(text) != 1:
            raise ChangedUpstream(text)
    for text, code in REPLACED.items():
        core = core.replace(text, code)
    return core
