"""Serves one page to the browser of whoever sits here."""

from __future__ import annotations

import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

HOST = "127.0.0.1"


def server_of(text: str, port: int = 0) -> ThreadingHTTPServer:
    """A server of one page on this machine alone, at a free port unless one is given.

    Raises:
        OSError: the port is taken.
    """
    body = text.encode()

    class Handler(BaseHTTPRequestHandler):
        """Answers ``/`` with the page and everything else with 404."""

        def do_GET(self) -> None:
            """Send the page."""
            known = self.path.partition("?")[0] == "/"
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body) if known else 0))
            self.end_headers()
            if known:
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing: requests of one's own browser are no news."""

    return ThreadingHTTPServer((HOST, port), Handler)


def serve(text: str, tell: Callable[[str], None]) -> None:
    """Serve a page and open a browser on it, until Ctrl+C."""
    server = server_of(text)
    address = f"http://{HOST}:{server.server_address[1]}/"
    tell(f"serving {address}, Ctrl+C ends")
    webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        tell("ended")
    finally:
        server.server_close()
