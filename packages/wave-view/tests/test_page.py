"""The page: one file, nothing fetched, nothing of the author's run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from threading import Thread
from urllib.request import ProxyHandler, build_opener

from viewed_kernels import EVIL

from wave_view import page
from wave_view.records import Problem
from wave_view.server import server_of


class Elements(HTMLParser):
    """What a browser's parser makes of the page: elements, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self._in_script = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in_script = dict(attrs).get("id", "code") if tag == "script" else None

    def handle_data(self, data):
        if self._in_script is not None:
            self.scripts[self._in_script] = data
            self._in_script = None


def test_nothing_of_the_author_ends_the_data(view):
    evil = replace(view, kernel=EVIL, problems=(Problem("error", EVIL, None),))
    found, plain = Elements(page(evil)), Elements(page(view))
    assert json.loads(found.scripts["data"])["kernel"] == EVIL
    assert [tag for tag, _ in found.tags] == [tag for tag, _ in plain.tags]
    assert not any(tag == "img" for tag, _ in found.tags)


def test_only_its_own_script_may_run(view):
    found = Elements(page(view))
    (policy,) = [attrs["content"] for _, attrs in found.tags if "http-equiv" in attrs]
    digest = hashlib.sha256(found.scripts["code"].encode()).digest()
    assert f"script-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert policy.startswith("default-src 'none'")


def test_nothing_is_fetched(view):
    text = page(view)
    found = Elements(text)
    assert not any({"src", "srcset", "data"} & attrs.keys() for _, attrs in found.tags)
    assert not any(tag == "link" for tag, _ in found.tags)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|import\(", text)


def test_every_placeholder_is_filled(view):
    assert "{{" not in page(view).split('id="data"')[0]


def test_the_server_has_one_page_on_this_machine_alone(view):
    text = page(view)
    server = server_of(text)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        host, port = server.server_address
        assert host == "127.0.0.1"
        opener = build_opener(ProxyHandler({}))
        with opener.open(f"http://{host}:{port}/") as answer:
            assert answer.read().decode() == text
    finally:
        server.shutdown()
        server.server_close()
