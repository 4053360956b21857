# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Controls a page in headless Chromium by the DevTools protocol over a pair of pipes."""

import base64
import contextlib
import json
import os
import select
import signal
import subprocess
import time

STEP_SECONDS = 60  # a step that takes longer hangs


class Browser:
    """A context manager: one Chromium with one page."""

    def __init__(self, chromium, folder):
        self.to_us, for_chromium = os.pipe()
        from_us, self.to_chromium = os.pipe()
        self.log = open(folder / "chromium.log", "wb")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            # The protocol uses descriptors 3 and 4.
            ["sh", "-c", f'exec "$0" "$@" 3<&{from_us} 4>&{for_chromium}', chromium, "--headless", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
             f"--user-data-dir={folder}/profile", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
            pass_fds=(from_us, for_chromium), start_new_session=True)
        os.close(from_us)
        os.close(for_chromium)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.events = []

    def __enter__(self):
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "DOM"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to_chromium)
        os.close(self.to_us)
        self.log.close()

    def receive(self):
        """Returns the next message. Fails if none arrives."""
        end = time.monotonic() + STEP_SECONDS
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.to_us], [], [], max(0, end - time.monotonic()))
            data = os.read(self.to_us, 1 << 16) if ready else b""
            if not data:
                raise RuntimeError("Chromium does not answer")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_chromium, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.receive())

    def load(self, path, width, height=900, dark=False, scripts=True):
        """Opens a file in a window of this size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.events.clear()
        self.call("Page.navigate", url=f"file://{path}")
        self.wait_for("Page.loadEventFired")

    def complaints(self):
        """Returns the page's messages to the console and its exceptions."""
        return [e for e in self.events if e.get("method") in
                ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]

    def evaluate(self, expression):
        """Returns the value of a JavaScript expression, as JSON represents it."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, (expression, result)
        return result["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def drag(self, x0, y0, x1, y1):
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, button="left", buttons=1, clickCount=1)
        self.mouse("mouseMoved", (x0 + x1) / 2, y1, button="left", buttons=1)
        self.mouse("mouseMoved", x1, y1, button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)

    def picture(self):
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])
