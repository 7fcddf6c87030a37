"""Drives a headless Chromium over a pair of pipes, with nothing but Python: pages are opened, asked and photographed."""

import base64
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe"]


def find_chromium():
    return next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


class Browser:
    """One page. What it writes to its console, throws, or asks of a network is kept in `complaints`."""

    def __init__(self, width=1200, height=900):
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        # Chromium reads from 3 and writes to 4; the ends are moved out of the way first.
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read, to_write)]

        def arrange():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.folder = tempfile.mkdtemp(prefix="onward-browser-")
        self.process = subprocess.Popen(
            [find_chromium(), *FLAGS, f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"],
            preexec_fn=arrange, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_read, to_write, *high):
            os.close(end)
        self.buffer, self.number, self.session, self.complaints, self.loaded = b"", 0, None, [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=20)
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, limit=120):
        end = time.monotonic() + limit
        while b"\0" not in self.buffer:
            if time.monotonic() > end:
                raise TimeoutError("Chromium does not answer")
            part = os.read(self.back, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        method, about = message.get("method"), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(about["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.complaints.append(str([each.get("value") for each in about["args"]]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not about["request"]["url"].startswith(("file:", "data:")):
            self.complaints.append("the page asks for " + about["request"]["url"])
        return message

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def resize(self, width, height, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def prefer(self, dark):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.wait_for_frames()

    def open(self, file):
        """Opens a file; gives the seconds until the page has put itself together and has been painted."""
        self.loaded = False
        begin = time.monotonic()
        self.call("Page.navigate", url=pathlib.Path(file).resolve().as_uri())
        while not self.loaded:
            self.receive()
        self.wait_for_frames()
        return time.monotonic() - begin

    def wait_for_frames(self):
        """Until what has changed is painted, and the page has heard of it."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def run(self, script):
        """The value of an expression, promises waited for."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            extra = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            code = {"Tab": 9, "Enter": 13}[key]
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **extra)

    def scroll_through(self):
        """So that every picture has come into view and is drawn."""
        self.run("""(async () => {
          document.documentElement.style.scrollBehavior = "auto";
          for (let y = 0; y < document.body.scrollHeight; y += innerHeight / 2) {
            scrollTo(0, y);
            await new Promise(done => setTimeout(done, 30));
          }
          scrollTo(0, 0);
          await new Promise(done => setTimeout(done, 50));
        })()""")

    def photograph(self, file, whole=True):
        if whole:
            self.scroll_through()
        size = self.run("[innerWidth, document.documentElement.scrollHeight]") if whole else None
        clip = {"clip": {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}} if whole else {}
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **clip)
        pathlib.Path(file).write_bytes(base64.b64decode(picture["data"]))

    def print_to(self, file):
        answer = self.call("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)
        pathlib.Path(file).write_bytes(base64.b64decode(answer["data"]))
