"""The inspector's page under ``/_fakellm/``: static files that hold no data, so they are served to whoever asks.

Everything on the page comes from the admin API, which asks for its token itself; the page hands on the one that its
user types. A policy in the headers keeps the page from loading or sending anything elsewhere.
"""

from __future__ import annotations

from aiohttp import web

from ..pages import page_part

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
}
FILES = {
    "/": (("inspector.html",), "text/html"),
    "/inspector.js": (("common.js", "inspector.js"), "text/javascript"),
    "/inspector.css": (("common.css", "inspector.css"), "text/css"),
}
"""path -> the parts that it is made of, and its type."""


def add_inspector(app: web.Application, prefix: str) -> None:
    """Put the page's routes into an application."""
    for path in FILES:
        app.router.add_get(prefix + path, _page)
    app.router.add_get(prefix, _to_the_page)


async def _page(request: web.Request) -> web.Response:
    parts, kind = FILES["/" + request.path.rpartition("/")[2]]
    text = "\n".join(page_part(part) for part in parts)
    return web.Response(text=text, content_type=kind, charset="utf-8", headers=HEADERS)


async def _to_the_page(request: web.Request) -> web.Response:
    return web.Response(status=308, headers={"location": request.path + "/"})
