#!/usr/bin/env python3
"""Tests of get_traces against a server of our own; nothing leaves this machine."""

import contextlib
import hashlib
import http.server
import importlib.machinery
import importlib.util
import io
import re
import sys
import tempfile
import threading
import unittest
from pathlib import Path


def load_get_traces():
    path = str(Path(__file__).resolve().parent / "get_traces")
    loader = importlib.machinery.SourceFileLoader("get_traces", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("get_traces", loader))
    sys.modules["get_traces"] = module  # dataclasses look their module up
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


get_traces = load_get_traces()
CONTENT = b"arrival_s,prompt_tokens,output_tokens\n0,1,1\n" * 5000


class Server(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT at /good; /short stops halfway; anything else is missing."""

    requests = []

    def do_GET(self):
        Server.requests.append((self.path, self.headers.get("Range")))
        if self.path not in ("/good", "/short"):
            self.send_error(404)
            return
        start = 0
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
            start = int(match[1])
            if start >= len(CONTENT):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        end = len(CONTENT) // 2 if self.path == "/short" else len(CONTENT)
        self.wfile.write(CONTENT[start:end])

    def log_message(self, *_):
        pass


class GetTracesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "made" / "on demand"
        Server.requests.clear()

    def trace(self, path="/good", **more):
        url = f"http://127.0.0.1:{self.server.server_port}{path}"
        fields = {"sha256": hashlib.sha256(CONTENT).hexdigest(), **more}
        return get_traces.Trace("t.csv", url, "a licence", "its authors", **fields)

    def run_main(self, trace, *arguments):
        """Exit code, what was announced, what went to stderr."""
        lines, errors = [], io.StringIO()
        with contextlib.redirect_stderr(errors):
            code = get_traces.main(["--to", str(self.folder), *arguments], (trace,), lines.append)
        return code, "\n".join(lines), errors.getvalue()

    def test_fetches_and_verifies(self):
        code, said, _ = self.run_main(self.trace())
        self.assertEqual(code, 0)
        self.assertIn(f"t.csv: {len(CONTENT)} bytes, sha256 verified", said)
        self.assertEqual((self.folder / "t.csv").read_bytes(), CONTENT)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["t.csv"])

    def test_leaves_a_good_file_alone(self):
        self.run_main(self.trace())
        code, said, _ = self.run_main(self.trace())
        self.assertEqual(code, 0)
        self.assertIn("already there, sha256 verified", said)
        self.assertEqual(len(Server.requests), 1)

    def test_complains_about_a_damaged_file_but_keeps_it(self):
        self.folder.mkdir(parents=True)
        (self.folder / "t.csv").write_bytes(b"other")
        code, _, errors = self.run_main(self.trace())
        self.assertEqual(code, 1)
        self.assertIn("t.csv: wrong sha256: expected", errors)
        self.assertEqual((self.folder / "t.csv").read_bytes(), b"other")

    def test_wrong_content_never_gets_the_name(self):
        code, _, errors = self.run_main(self.trace(sha256="0" * 64))
        self.assertEqual(code, 1)
        self.assertIn("wrong sha256: expected " + "0" * 64, errors)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_continues_what_was_cut_off(self):
        code, _, errors = self.run_main(self.trace("/short"))
        self.assertEqual(code, 1)
        self.assertIn("run again to continue", errors)
        self.assertFalse((self.folder / "t.csv").exists())
        code, said, _ = self.run_main(self.trace())
        self.assertEqual(code, 0)
        self.assertIn(f"continues at byte {len(CONTENT) // 2}", said)
        self.assertEqual(Server.requests[-1], ("/good", f"bytes={len(CONTENT) // 2}-"))
        self.assertEqual((self.folder / "t.csv").read_bytes(), CONTENT)

    def test_a_complete_leftover_only_needs_its_name(self):
        self.folder.mkdir(parents=True)
        (self.folder / "t.csv.part").write_bytes(CONTENT)
        code, _, _ = self.run_main(self.trace())
        self.assertEqual(code, 0)
        self.assertEqual((self.folder / "t.csv").read_bytes(), CONTENT)

    def test_a_git_blob_id_is_a_checksum_too(self):
        blob = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
        code, said, _ = self.run_main(self.trace(sha256="", git_blob=blob))
        self.assertEqual(code, 0)
        self.assertIn("git blob verified", said)
        (self.folder / "t.csv").unlink()
        code, _, errors = self.run_main(self.trace(sha256="", git_blob="1" * 40))
        self.assertEqual(code, 1)
        self.assertIn("wrong git blob", errors)

    def test_without_a_known_checksum_it_says_so(self):
        code, said, _ = self.run_main(self.trace(sha256=""))
        self.assertEqual(code, 0)
        self.assertIn("sha256: none known, this file has " + hashlib.sha256(CONTENT).hexdigest(),
                      said)

    def test_names_the_url_that_fails(self):
        code, _, errors = self.run_main(self.trace("/missing"))
        self.assertEqual(code, 1)
        self.assertIn("/missing: HTTP 404", errors)
        unreachable = get_traces.Trace("t.csv", "http://127.0.0.1:1/x", "", "")
        code, _, errors = self.run_main(unreachable)
        self.assertEqual(code, 1)
        self.assertIn("t.csv: http://127.0.0.1:1/x: ", errors)

    def test_a_folder_that_cannot_be_made_is_named(self):
        self.folder.parent.mkdir()
        self.folder.write_bytes(b"a file")
        code, _, errors = self.run_main(self.trace())
        self.assertEqual(code, 1)
        self.assertIn(f"get_traces: {self.folder}: File exists", errors)

    def test_lists_without_fetching(self):
        code, said, _ = self.run_main(self.trace(), "--list")
        self.assertEqual(code, 0)
        self.assertIn("a licence; cite its authors", said)
        self.assertEqual(Server.requests, [])

    def test_what_is_on_request_is_not_fetched_by_itself(self):
        rare = self.trace(is_default=False)
        self.run_main(rare)
        self.assertEqual(Server.requests, [])
        self.run_main(rare, "t.csv")
        self.assertEqual(len(Server.requests), 1)

    def test_an_unknown_name_is_bad_usage(self):
        with self.assertRaises(SystemExit) as stopped, contextlib.redirect_stderr(io.StringIO()):
            get_traces.main(["nonsense"])
        self.assertEqual(stopped.exception.code, 2)

    def test_the_table_is_sound(self):
        names = [trace.name for trace in get_traces.TRACES]
        self.assertEqual(len(names), len(set(names)))
        for trace in get_traces.TRACES:
            self.assertRegex(trace.url, "^https://")
            self.assertRegex(trace.sha256, "^([0-9a-f]{64})?$")
            self.assertRegex(trace.git_blob, "^([0-9a-f]{40})?$")


if __name__ == "__main__":
    unittest.main()
