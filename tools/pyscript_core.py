"""PyScript's core as the site needs it, made from its published text while building.

What is replaced, each text exactly once:

* PyScript turns the text of a hook into a function twice: on the page, to send it to the worker, and there. It has one
  such hook, which registers a module; here its code stands in both places instead of the two calls of ``Function``,
  and nothing that a visitor's browser runs asks for ``'unsafe-eval'``.
* It opens a database on the page, for folders that a site may mount, and one in the worker, for packages that it may
  keep. The site has neither, so that a ``Map`` stands there: the start waits for no storage and needs none.
* It writes a Python package of its own into the interpreter and imports it, which took 45 ms here on 2026-12-01. The
  site's Python speaks with the browser through ``js`` alone.
* The plug-in that shows errors is fetched to be told to show none. ``boot.mjs`` says what goes wrong.
"""

from __future__ import annotations

RUN = "async(e,t,...n)=>{for(const r of n)await r(e,t)}"
REGISTER = (
    '({interpreter:e})=>{e.registerJsModule("_pyscript",'
    '{fs:{ERROR:"storage permissions not granted",NAMESPACE:"@pyscript.fs"},interpreter:e})}'
)
HOOK = f"(w,x)=>({RUN})(w,x,...[{REGISTER}])"
"""What PyScript makes of its one hook of the worker, ``onBeforeRunAsync``."""

STORE = "Object.assign(new Map,{sync(){},close(){}})"

REPLACED = {
    "return Function(`return(w,x)=>(${r})(w,x,...[${s}])`)()": f"return {HOOK}",
    r"It=e=>Function(`\'use strict\';return (${e})`)()": f"It=()=>{HOOK}",
    "no=new y(eo)": f"no={STORE}",
    "l=new h(`${c}@${t}`)": f"l={STORE}",
    "l=new i(`${c}@${t}`)": f"l={STORE}",
    r'const Ao=ho.join("\n")': 'const Ao=""',
    'error:()=>import("./error-D2315lOB.js")': "error:async()=>({notOnDOM(){},notify:console.error})",
}
"""Text of PyScript -> what stands there instead."""

EXPECTED = (RUN, f"onBeforeRunAsync:new So([{REGISTER}])")
"""What must be in PyScript's text for ``HOOK`` to be what it would have made."""


class ChangedUpstream(Exception):
    """PyScript is not the one that this was written for."""


def fitted(core: str) -> str:
    """Return the text of PyScript's core with everything replaced.

    Raises:
        ChangedUpstream: if one of the texts is not there exactly once.
    """
    for text in (*REPLACED, *EXPECTED):
        if core.count(text) != 1:
            raise ChangedUpstream(text)
    for text, code in REPLACED.items():
        core = core.replace(text, code)
    return core
