"""A browser without a window, driven through WebDriver's own protocol (W3C)."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from contextlib import contextmanager
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1500,950",
)  # fmt: skip

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_OPENER = build_opener(ProxyHandler({}))


class Browser:
    """One session of the driver."""

    def __init__(self, address, folder, dark=False):
        self._address = address
        flags = [*FLAGS, f"--user-data-dir={folder}"]
        flags += ["--force-dark-mode"] if dark else []
        wanted = {
            "goog:chromeOptions": {"args": flags, "binary": CHROMIUM},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        made = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._address += f"/session/{made['sessionId']}"

    def _send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._address + path, data, method=method)
        try:
            with _OPENER.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from error

    def open(self, url):
        # A page that is there already would only follow its address.
        for each in ("about:blank", url):
            self._send("POST", "/url", {"url": each})
        self.until("return document.documentElement.dataset.ready === 'yes'")

    def run(self, script, *arguments):
        return self._send(
            "POST", "/execute/sync", {"script": script, "args": arguments}
        )

    def until(self, script, seconds=10):
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, script
            time.sleep(0.05)

    def click(self, selector):
        found = self._find(selector)
        self._send("POST", f"/element/{found}/click", {})

    def keys(self, selector, text):
        found = self._find(selector)
        self._send("POST", f"/element/{found}/value", {"text": text})

    def _find(self, selector):
        query = {"using": "css selector", "value": selector}
        return self._send("POST", "/element", query)[_ELEMENT]

    def texts(self, selector):
        script = (
            "return [...document.querySelectorAll(arguments[0])]"
            ".map((each) => each.textContent)"
        )
        return self.run(script, selector)

    def screenshot(self):
        return base64.b64decode(self._send("GET", "/screenshot"))

    def emulate(self, **features):
        """Media features, such as ``prefers_color_scheme='dark'``."""
        rows = [
            {"name": name.replace("_", "-"), "value": value}
            for name, value in features.items()
        ]
        what = {"cmd": "Emulation.setEmulatedMedia", "params": {"features": rows}}
        self._send("POST", "/goog/cdp/execute", what)

    def complaints(self):
        """What the console says beyond information."""
        rows = self._send("POST", "/se/log", {"type": "browser"})
        return [row["message"] for row in rows if row["level"] != "INFO"]

    def requests(self):
        """What was asked for over the network, or tried to."""
        rows = self._send("POST", "/se/log", {"type": "performance"})
        sent = [json.loads(row["message"])["message"] for row in rows]
        return [
            each["params"]["request"]["url"]
            for each in sent
            if each["method"] == "Network.requestWillBeSent"
        ]

    def close(self):
        self._send("DELETE", "")


@contextmanager
def browser(folder):
    """A browser with a profile of its own in ``folder``."""
    driver = subprocess.Popen(
        [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        found = Browser(f"http://127.0.0.1:{_port(driver)}", folder)
        try:
            yield found
        finally:
            found.close()
    except URLError as error:
        raise AssertionError(error) from error
    finally:
        driver.terminate()
        driver.wait(10)
        driver.stdout.close()


def _port(driver):
    for line in driver.stdout:
        if b"on port" in line and b"was started successfully" in line:
            return int(line.split(b"port")[1].split(b".")[0])
    raise AssertionError("the driver did not start")
