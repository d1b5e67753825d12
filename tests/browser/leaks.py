"""Planted attempts to send data away, each as JavaScript that takes an address of another origin."""

from __future__ import annotations

EVERYWHERE = {
    "fetch": "(to) => fetch(to, { mode: 'no-cors' }).catch(() => {})",
    "XMLHttpRequest": "(to) => { const x = new XMLHttpRequest(); x.open('POST', to); x.send('dato'); }",
    "WebSocket": "(to) => { try { new WebSocket(to.replace('http', 'ws')); } catch {} }",
    "EventSource": "(to) => { try { new EventSource(to); } catch {} }",
    "import": "(to) => import(to).catch(() => {})",
}
"""From the page and from the worker."""

PAGE = {
    **EVERYWHERE,
    "beacon": "(to) => { try { navigator.sendBeacon(to, 'dato'); } catch {} }",
    "image": "(to) => { new Image().src = to; }",
    "form": """(to) => {
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', action: to, target: 'nueva' });
      document.body.append(form);
      form.submit();
    }""",
    "frame": "(to) => { const f = document.createElement('iframe'); f.src = to; document.body.append(f); }",
    "script": "(to) => { const s = document.createElement('script'); s.src = to; document.head.append(s); }",
    "object": "(to) => { const o = document.createElement('object'); o.data = to; document.body.append(o); }",
    "video": "(to) => { const v = document.createElement('video'); v.src = to; document.body.append(v); v.load(); }",
    "worker": "(to) => { try { new Worker(to); } catch {} }",
    **{
        f"link rel={rel}": f"""(to) => {{
          const l = document.createElement('link');
          Object.assign(l, {{ rel: '{rel}', href: to, as: '{"fetch" if rel == "preload" else ""}' }});
          document.head.append(l);
        }}"""
        for rel in ("stylesheet", "preload", "prefetch", "modulepreload", "manifest", "icon")
    },
    "style": """(to) => {
      document.body.style.backgroundImage = `url(${to})`;
      getComputedStyle(document.body).backgroundImage;
    }""",
    "font": "(to) => { new FontFace('ajena', `url(${to})`).load().catch(() => {}); }",
}
"""From the page, where there is a document."""

WORKER = {
    **EVERYWHERE,
    "importScripts": "(to) => { try { importScripts(to); } catch {} }",
    "worker": "(to) => { try { new Worker(to); } catch {} }",
    "font": "(to) => { new FontFace('ajena', `url(${to})`).load().catch(() => {}); }",
}
"""From the worker; ``sendBeacon`` is not there in any browser."""

NEVER_TRIED = frozenset({"link rel=manifest", "link rel=icon", "worker", "importScripts"})
"""What Chromium does not even try, so that its policy says nothing: a manifest and an icon without a window, a worker
of another origin, and ``importScripts`` in a worker that is a module."""

NOT_STOPPED = "a navigation: no policy in a page can forbid that it is left (a link, location, window.open)"
