"""Drives Chromium through the pages of a lake, as a person would.

    pages.py http://127.0.0.1:PORT http://127.0.0.1:HOSTILE report.html

From the overview to the heat map, a cell, a call and the query behind it by clicks; then every
page on a narrow screen, in the dark, by keyboard and without scripts. Nothing may land in the
console: neither an error nor a refusal of the content policy. Screenshots go to the folder
FIDELAKE_SCREENSHOTS, if it is set. Speaks WebDriver with chromedriver by itself.
"""

from __future__ import annotations

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)

CONTRAST = """
const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgb = (text) => { probe.clearRect(0, 0, 1, 1); probe.fillStyle = text; probe.fillRect(0, 0, 1, 1); return [...probe.getImageData(0, 0, 1, 1).data]; };
const light = (c) => { const f = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
const behind = (node) => { for (; node; node = node.parentElement) { const c = rgb(getComputedStyle(node).backgroundColor); if (c[3] === 255) return c; } return rgb(getComputedStyle(document.documentElement).backgroundColor === 'rgba(0, 0, 0, 0)' ? 'white' : getComputedStyle(document.documentElement).backgroundColor); };
const bad = [];
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walk.nextNode()) {
  const node = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || node.closest('svg, script, style, option') || !node.checkVisibility()) continue;
  const style = getComputedStyle(node);
  const [a, b] = [light(rgb(style.color)), light(behind(node))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) bad.push(`${ratio.toFixed(2)} ${style.color} ${node.tagName}.${node.className}: ${walk.currentNode.data.trim().slice(0, 40)}`);
}
return bad;
"""

BROAD = """
const wide = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth <= wide) return [];
return [...document.querySelectorAll('main *, header *, footer *')]
  .filter((e) => e.getBoundingClientRect().right > wide + 1 && !e.closest('.scroll, pre, figure, .skip'))
  .slice(0, 5).map((e) => `${e.tagName}.${e.className} ${Math.round(e.getBoundingClientRect().right)}`);
"""


class Browser:
    """One window."""

    def __init__(self, driver: str, *, scripts: bool = True) -> None:
        self.profile = tempfile.TemporaryDirectory(prefix="fidelake-chromium-")
        preferences = {} if scripts else {"profile.managed_default_content_settings.javascript": 2}
        options = {
            "binary": "/usr/bin/chromium",
            "args": [*FLAGS, f"--user-data-dir={self.profile.name}"],
            "prefs": preferences,
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        self.base = driver
        made = self.send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.base = f"{driver}/session/{made['sessionId']}"

    def send(self, method: str, path: str, body: dict | None = None) -> object:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.read().decode()}") from None

    def devtools(self, command: str, **parameters: object) -> object:
        return self.send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width: int, height: int) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def dark(self, on: bool) -> None:
        feature = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[feature])

    def open(self, address: str) -> None:
        self.send("POST", "/url", {"url": address})

    def run(self, script: str, *arguments: object) -> object:
        return self.send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, css: str) -> str:
        return self.send("POST", "/element", {"using": "css selector", "value": css})[ELEMENT]

    def click(self, css: str) -> None:
        self.send("POST", f"/element/{self.find(css)}/click", {})

    def press(self, keys: str) -> None:
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.send("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def text(self, css: str) -> str:
        return self.send("GET", f"/element/{self.find(css)}/text")

    def address(self) -> str:
        return self.send("GET", "/url")

    def console(self) -> list[str]:
        return [entry["message"] for entry in self.send("POST", "/se/log", {"type": "browser"})]

    def picture(self, name: str) -> None:
        folder = os.environ.get("FIDELAKE_SCREENSHOTS")
        if folder:
            path = pathlib.Path(folder) / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(self.send("GET", "/screenshot")))

    def close(self) -> None:
        self.send("DELETE", "")
        self.profile.cleanup()


def check(condition: object, what: object) -> None:
    if not condition:
        raise AssertionError(what)


def silent(browser: Browser, where: str) -> None:
    said = browser.console()
    check(not said, f"{where}: the console says {said}")


def clicks(browser: Browser, address: str) -> None:
    """From the overview to the query, by clicks alone."""
    browser.size(1280, 900)
    browser.open(address)
    check(browser.text("h1") == "Overview", browser.text("h1"))
    browser.picture("overview")
    browser.click("header nav a[href='/heat']")
    check("outcome" in browser.text("h1"), browser.text("h1"))
    browser.picture("heat")
    browser.click("table.heat td a[href*='outcome=ok+'][href*='invalid_arguments'][href*='book_reservation']")
    check("/calls" in browser.address() and "book_reservation" in browser.text("h1"), browser.address())
    browser.picture("calls")
    browser.click("table[data-rows] tbody th a")
    check("/trajectory" in browser.address(), browser.address())
    check(browser.run("return document.querySelector('.call:target, details.call[open]') !== null"), "no call is open")
    check("structural" in browser.text("dl.facts"), browser.text("dl.facts"))
    browser.run("document.querySelector('details.call:target').scrollIntoView()")
    browser.picture("trajectory")
    browser.send("POST", "/back", {})
    browser.click(".tools a[href^='/sql']")
    check("$api" in browser.text("dl.facts") and "call_gaps_now" in browser.text("pre"), browser.address())
    browser.click("a[href*='run=1']")
    check("invalid_arguments" in browser.text("table[data-rows]"), "the query gives other rows")
    browser.picture("sql")
    silent(browser, "clicking")


PAGES = ("/", "/heat", "/calls", "/patterns", "/budget", "/monitor", "/sql", "/sql?q=heat&run=1", "/nowhere")


def everywhere(browser: Browser, address: str) -> None:
    """No page is broader than a telephone, pale, or loud."""
    browser.open(f"{address}/patterns")
    pages = [*PAGES]
    for css, start in (("tbody th a[href^='/pattern']", "/patterns"), ("tbody th a[href^='/trajectory']", "/calls")):
        browser.open(address + start)
        pages.append(browser.run("return document.querySelector(arguments[0]).getAttribute('href')", css))
    for path in pages:
        for width in (360, 1280):
            for dark in (False, True):
                browser.size(width, 800)
                browser.dark(dark)
                browser.open(address + path)
                broad = browser.run(BROAD)
                check(not broad, f"{path} at {width}: {broad}")
                pale = browser.run(CONTRAST)
                check(not pale, f"{path} at {width}, dark {dark}: {pale[:5]}")
                check(browser.run("return document.querySelectorAll('main h1').length") == 1, f"{path}: headings")
                name = path.strip("/").split("?")[0] or "overview"
                if width == 360 and not dark and path in ("/", "/heat"):
                    browser.picture(f"{name}-narrow")
                if width == 1280 and (dark and path == "/heat"):
                    browser.picture(f"{name}-dark")
                if width == 1280 and not dark and path in ("/patterns", "/budget"):
                    browser.picture(name)
        said = [line for line in browser.console() if "404" not in line]
        check(not said, f"{path}: the console says {said}")
    browser.dark(False)
    browser.size(1280, 900)


def keyboard(browser: Browser, address: str) -> None:
    """Tab reaches the content first, and what is focused can be seen."""
    tab, enter, down = "\ue004", "\ue007", "\ue015"
    browser.open(f"{address}/heat")
    browser.press(tab)
    here = "return document.activeElement.className + ' ' + document.activeElement.getAttribute('href')"
    check(browser.run(here).startswith("skip"), browser.run(here))
    browser.press(enter)
    for _ in range(40):
        browser.press(tab)
        if browser.run("return document.activeElement.closest('table.heat td') !== null"):
            break
    check(browser.run("return document.activeElement.closest('table.heat td') !== null"), "no cell by keyboard")
    outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    check(outline != "none", f"what is focused has the outline {outline}")
    browser.press(down)
    check(browser.run("return document.activeElement.closest('table.heat td') !== null"), "arrows leave the map")
    browser.press(enter)
    check("/calls" in browser.address(), browser.address())
    browser.press("j")
    check(browser.run("return document.activeElement.closest('tbody') !== null"), "j reaches no row")
    # A filter on a long table.
    browser.open(f"{address}/sql")
    browser.press("/")
    browser.press("heat")
    left = browser.run("return [...document.querySelectorAll('tbody tr')].filter((row) => !row.hidden).length")
    rows = browser.run("return document.querySelectorAll('tbody tr').length")
    check(0 < left < rows, f"{left} of {rows} rows are left")
    silent(browser, "keyboard")


def harmless(browser: Browser, address: str) -> None:
    """Whatever payloads say, nothing of it runs."""
    seen = [address + "/", address + "/calls"]
    # The list grows while it is walked.
    for page in seen:
        browser.open(page)
        title = browser.send("GET", "/title")
        check(title.endswith("fidelake"), f"{page} is called {title}")
        strange = "return document.querySelectorAll('img, iframe, object, script:not([src=\"/script.js\"])').length"
        check(browser.run(strange) == 0, f"{page}: markup of a payload")
        for link in browser.run("return [...document.links].map((link) => link.href)"):
            check(link.startswith(address), f"{page} links to {link}")
            link = link.split("#")[0]
            if link not in seen and "/data." not in link and len(seen) < 60:
                seen.append(link)
        silent(browser, page)
    check(any("/trajectory" in page for page in seen) and any("/text" in page for page in seen), seen)


def main() -> None:
    address, hostile, report = sys.argv[1:]
    driver = subprocess.Popen(
        ["/usr/bin/chromedriver", "--port=0", "--log-level=SEVERE"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        port = None
        while port is None:
            line = driver.stdout.readline()
            check(line, "chromedriver did not start")
            if "successfully on port" in line:
                port = int(line.rstrip(".\n").split("on port ")[1])
        base = f"http://127.0.0.1:{port}"
        began = time.monotonic()
        browser = Browser(base)
        clicks(browser, address)
        keyboard(browser, address)
        everywhere(browser, address)
        harmless(browser, hostile)
        browser.open(f"file://{report}")
        check(browser.run("return document.scripts.length") == 0, "the report has scripts")
        check(not browser.run(CONTRAST), browser.run(CONTRAST))
        browser.picture("report")
        silent(browser, "report")
        browser.close()
        plain = Browser(base, scripts=False)
        plain.open(f"{address}/heat")
        plain.click("table.heat td a")
        check("/calls" in plain.address(), plain.address())
        plain.click("form.choose button")
        check("/calls?" in plain.address(), plain.address())
        plain.close()
        print(f"pages: clicked, narrow, dark, by keyboard, hostile, without scripts in {time.monotonic() - began:.0f} s")
    finally:
        driver.kill()
        driver.wait()


if __name__ == "__main__":
    main()
