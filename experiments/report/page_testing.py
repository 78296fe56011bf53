"""Access of tests to a report: its data, and the page in a headless Chromium with its own clock,
controlled over a pipe (Chrome DevTools Protocol).
"""

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

SELFTEST = Path(__file__).with_name("selftest.js")
DEADLINE_S = 120
WHY_SKIPPED = "no Chromium here, which `./bazelw browser` installs (Debian's package: chromium)"


def data_of(folder):
    """What the page in a folder of results shows."""
    return json.loads((Path(folder) / "report.json").read_text("utf-8"))["data"]


def browser():
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((found for found in map(shutil.which, names) if found), None)


def run_tests():
    """Runs the tests of the program's file; without a browser names each one that is skipped."""
    if browser() is not None:
        unittest.main(argv=sys.argv[:1], verbosity=2)
    found = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    tests = [test for case in found for test in case]
    for test in tests:
        print(f"SKIPPED: {test.id().removeprefix('__main__.')}: {WHY_SKIPPED}")
    print(f"{len(tests)} tests skipped, none run")


def selftest(page, profile, size=(1360, 1500)):
    """What selftest.js saw of a page."""
    with BrowserSession(page, profile, size) as session:
        return session.run("selftest()")


class BrowserSession(contextlib.ExitStack):
    """One page, open until the session is closed. It has the functions of selftest.js."""

    def __init__(self, path, profile, size=(1360, 1500)):
        super().__init__()
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        for end in (self._in, self._out):
            self.callback(os.close, end)
        # A test may be run by root, for whom there is no sandbox.
        command = [browser(), "--headless=new", "--no-sandbox", "--disable-gpu",
                   "--hide-scrollbars", "--remote-debugging-pipe", "--force-device-scale-factor=1",
                   "--window-size={},{}".format(*size), f"--user-data-dir={profile}"]
        # The browser expects the pipe at 3 and 4, whatever our descriptors are.
        shell = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        self._process = subprocess.Popen(["bash", "-c", shell, "browser", *command],
                                         pass_fds=(to_browser, from_browser),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.callback(self._end)
        self._buffer, self._number, self._session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.call("Page.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=SELFTEST.read_text("utf-8"))
        self.call("Page.navigate", url=f"file://{path}")
        self.wait_for("document.readyState === 'complete'")

    def run(self, script):
        """The value that the promise of the page's script resolves to."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True,
                            returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait_for(self, condition):
        end = time.monotonic() + DEADLINE_S
        while not self.run(condition):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.05)

    def call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def _receive(self):
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], DEADLINE_S)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(line)

    def _end(self):
        # Asked to, it ends its own processes first, which else might still write into the profile.
        self._session = None
        with contextlib.suppress(OSError, EOFError, TimeoutError, AssertionError):
            self.call("Browser.close")
        try:
            self._process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
