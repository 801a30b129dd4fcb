"""A headless Chromium, driven by its own protocol over two pipes: no driver, library or port."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
AXE = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"
WAIT = 180  # seconds, on a busy machine
HAND_OVER = (  # the browser reads at 3 and writes at 4
    "import os, sys; ends = [os.dup(int(end)) for end in sys.argv[1:3]]; "
    "os.dup2(ends[0], 3); os.dup2(ends[1], 4); "
    "os.set_inheritable(3, True); os.set_inheritable(4, True); "
    "os.execvp(sys.argv[3], sys.argv[3:])"
)
PAPER = {"paperWidth": 8.27, "paperHeight": 11.69, "marginLeft": 0.4, "marginRight": 0.4}  # A4
PRINTED = 717  # pixels between the margins
CUT = (  # what reaches beyond the paper, and controls, which paper cannot use
    "Array.from(document.querySelectorAll('main *')).filter((one) => one.checkVisibility() && "
    "!one.closest('.unseen') && (one.getBoundingClientRect().right > innerWidth + 1 || "
    "one.matches('button, select, input'))).slice(0, 5).map((one) => one.outerHTML.slice(0, 200))"
)
VIEWS = [(400, False), (400, True), (1400, False), (1400, True)]  # width, dark
CONTRAST = {"prefers_contrast": "more", "forced_colors": "active"}
KEYS = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Space": ("Space", 32, " "),
    "ArrowDown": ("ArrowDown", 40, ""),
    "Escape": ("Escape", 27, ""),
}
FOCUS = (
    "(() => { const one = document.activeElement; return one ? (one.id || one.innerText || "
    "one.getAttribute('aria-label') || one.tagName) : '' })()"
)
OVERFLOW = (
    "(() => { const all = document.scrollingElement; return [all.scrollWidth, all.clientWidth] })()"
)


def find_chromium() -> str:
    """The browser's program; skips where there is none."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    pytest.skip(f"no browser here (looked for {', '.join(NAMES)})")


class Browser:
    """One browser with one tab.

    Attributes:
        console: errors and warnings that the pages wrote, and exceptions.
        requests: what the pages asked for.
    """

    def __init__(self, profile: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        self._numbers = itertools.count(1)
        self._buffer = b""
        self.console: list[str] = []
        self.requests: list[str] = []

        ends = (str(to_read), str(to_write))
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-S", "-E", "-c", HAND_OVER, *ends, find_chromium()),
                *("--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"),
                *("--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars"),
                *("--disable-background-networking", "--disable-component-update"),
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(to_read, to_write),
        )
        os.close(to_read)
        os.close(to_write)
        self._session = ""
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        """Make a tab and listen to it."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol and give its result; events on the way are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(time.monotonic() + WAIT)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser says nothing"
            data = os.read(self._read, 1 << 16)
            assert data, "the browser has gone"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.console.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.console.append(json.dumps(params["args"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def size(self, width: int, height: int = 900, *, dark: bool = False, **features: str) -> None:
        """Set the window's size, whether the reader prefers dark pages, and other features."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = "dark" if dark else "light"
        self.send(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": name.replace("_", "-"), "value": value}
                for name, value in {"prefers_color_scheme": scheme, **features}.items()
            ],
        )

    def go(self, url: str) -> None:
        """Open a page and wait until it has loaded."""
        self.send("Page.navigate", url=url)
        self.until(lambda: self.evaluate("document.readyState") == "complete")

    def open(self, url: str) -> None:
        """Open a page from its start, and wait until its script is ready."""
        self.send("Page.navigate", url="about:blank")  # an address with another hash is no load
        self.go(url)
        ready = "!document.querySelector('#list') || document.documentElement.dataset.ready"
        self.until(lambda: self.evaluate(ready))

    def violations(self) -> list[str]:
        """Return what axe-core, a checker of accessibility, finds; skips without it.

        Of a list of examples it sees the first ones: more are slow, and are no other.
        """
        if not AXE.is_file():
            pytest.skip("axe-core is not here (`npm install --no-save axe-core` fetches it)")
        self.evaluate(AXE.read_text(encoding="utf-8") + ";0")
        found = self.evaluate(
            "axe.run({ exclude: ['.example:nth-child(n + 9)'] }, { resultTypes: ['violations'] })"
            ".then((found) => found.violations.map((one) =>"
            " one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.html).join(' ... ')))"
        )
        return list(found)

    def evaluate(self, expression: str) -> Any:
        """Give the value of a JavaScript expression."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, done: Callable[[], Any], seconds: float = WAIT) -> None:
        """Wait until a check holds."""
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, "it did not come about"
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            code, number, text = KEYS[key]
            common = {"key": text if key == "Space" else key, "code": code}
            common |= {"windowsVirtualKeyCode": number}
            down = {**common, "text": text} if text else common
            self.send("Input.dispatchKeyEvent", type="keyDown", **down)
            self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Write a text into what has the focus."""
        self.send("Input.insertText", text=text)

    def focus(self) -> str:
        """Say what has the focus: its id, or its text."""
        return " ".join(str(self.evaluate(FOCUS)).split())

    def tab_to(self, wanted: str, most: int = 80) -> None:
        """Go to something by the tab key alone; `wanted` is its id or begins its text."""
        for _ in range(most):
            self.press("Tab")
            if self.focus().startswith(wanted):
                return
        raise AssertionError(f"the tab key does not lead to {wanted!r}; last at {self.focus()!r}")

    def overflow(self) -> int:
        """How many pixels the page is wider than its window."""
        wide, window = self.evaluate(OVERFLOW)
        return max(0, int(wide) - int(window))

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Save what is to be seen."""
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def check(self, *pages: str) -> None:
        """Fail where a page does not fit a view or paper, complains, or has a violation."""
        self.console.clear()
        for width, dark, more in (*((*view, {}) for view in VIEWS), (1400, False, CONTRAST)):
            self.size(width, dark=dark, **more)
            for page in pages:
                self.go(page)
                self.evaluate("document.querySelectorAll('details').forEach((x) => x.open = true)")
                assert self.overflow() == 0, (page, width)
                assert self.console == [], (page, width)
                assert self.violations() == [], (page, width, dark)
        for page in pages:
            self.check_print(page)

    def check_print(self, page: str) -> bytes:
        """Fail where a page is cut on paper, or as dark as its window; return its PDF."""
        self.size(PRINTED, dark=True)
        self.open(page)
        dark = [{"name": "prefers-color-scheme", "value": "dark"}]
        self.send("Emulation.setEmulatedMedia", media="print", features=dark)
        assert self.overflow() == 0, page
        assert self.evaluate(CUT) == [], page
        assert self.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)", page
        pdf = base64.b64decode(self.send("Page.printToPDF", **PAPER)["data"])
        self.send("Emulation.setEmulatedMedia", media="")
        assert pdf.startswith(b"%PDF"), page
        return pdf

    def close(self) -> None:
        """End the browser."""
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
