#!/usr/bin/env python3
"""Tests of the program as a process: exit codes, messages, folders, terminals, full disks."""

import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = str(Path(sys.argv.pop(1)).resolve())
COMMANDS = "fragmentation simulate sweep trace plan plot report numerics verify replay".split()
COMMANDS += "cases check oracle ptx generate completion man".split()
SMALL = ("--requests", "100")


def recto(*arguments, **options):
    options.setdefault("cwd", tempfile.gettempdir())
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, encoding="utf-8", **options
    )


def environment(**changes):
    """Our environment without the variables that the program reads, and with `changes`."""
    dropped = ("LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR", "TERM", "BUILD_WORKING_DIRECTORY")
    return {k: v for k, v in os.environ.items() if k not in dropped} | changes


class Usage(unittest.TestCase):
    def test_a_bad_row_is_named_and_nothing_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            rows = "arrival_s,prompt_tokens,output_tokens\n0,10,10\n1,-5,10\n2,10,10\n"
            Path(folder, "bad.csv").write_text(rows)
            for command in ("simulate --timeline t.json", "fragmentation --out results"):
                done = recto(*command.split(), "--trace", "bad.csv", cwd=folder)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, r"bad\.csv:3:.*prompt_tokens")
                self.assertEqual(os.listdir(folder), ["bad.csv"])
            skipping = "simulate --trace bad.csv --on-bad-row skip".split()
            done = recto(*skipping, "--json", cwd=folder)
            self.assertEqual(done.returncode, 0)
            answer = json.loads(done.stdout)
            self.assertEqual(answer["trace"]["skipped_rows"], 1)
            self.assertEqual(answer["report"]["counters"]["requests_finished"], 2)
            done = recto(*skipping, cwd=folder)
            self.assertIn("skipped", done.stdout)

    def test_help_is_complete(self):
        settings = json.loads(recto("simulate", *SMALL, "--json").stdout)["settings"]
        flags = {"--" + key.replace("_", "-") for key in settings}
        for command in COMMANDS:
            with self.subTest(command):
                done = recto(command, "--help")
                self.assertEqual(done.returncode, 0)
                self.assertIn("Example", done.stdout)
                self.assertIn(f"  recto {command}", done.stdout)
                self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
        for command in ("fragmentation", "simulate", "sweep"):
            text = recto(command, "--help").stdout
            for form in ("closed:clients=N", "mixture:", "templates:", "fa4", "per_kv_block_ns"):
                self.assertIn(form, text)
        named = set(re.findall(r"--[a-z][a-z0-9-]*", recto("simulate", "--help").stdout))
        self.assertLessEqual(flags, named)
        named = set(re.findall(r"--[a-z][a-z0-9-]*", recto("fragmentation", "--help").stdout))
        self.assertLessEqual(flags - {"--allocator", "--block-size"}, named)

    def test_help_and_version_of_the_program(self):
        done = recto("--help")
        self.assertEqual(done.returncode, 0)
        for command in COMMANDS:
            self.assertIn(f"  {command} ", done.stdout)
        done = recto("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^recto \d+\.\d+\.\d+, commit \S+\n$")


class Folders(unittest.TestCase):
    def test_paths_mean_the_callers_folder_under_bazel_run(self):
        with tempfile.TemporaryDirectory() as folder:
            caller = Path(folder, "caller")
            runfiles = Path(folder, "bin/recto.runfiles/recto")
            elsewhere = Path(folder, "elsewhere")
            for made in (caller, runfiles, elsewhere):
                made.mkdir(parents=True)
            env = environment(BUILD_WORKING_DIRECTORY=str(caller))
            arguments = ("simulate", *SMALL, "--timeline", "t.json")
            self.assertEqual(recto(*arguments, cwd=runfiles, env=env).returncode, 0)
            self.assertEqual(os.listdir(caller), ["t.json"])
            # A script under `bazel run` that has changed its folder expects its current one.
            self.assertEqual(recto(*arguments, cwd=elsewhere, env=env).returncode, 0)
            self.assertEqual(os.listdir(elsewhere), ["t.json"])

    def test_equal_runs_write_equal_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, threads in (("a", "1"), ("b", "8")):
                done = recto(
                    "fragmentation", *SMALL, "--out", name, "--threads", threads, cwd=folder
                )
                self.assertEqual(done.returncode, 0, done.stderr)
            names = sorted(os.listdir(Path(folder, "a")))
            self.assertEqual(names, ["fragmentation.csv", "manifest.json", "report.json",
                                     "series.csv"])
            for name in names:
                a, b = (Path(folder, run, name).read_bytes() for run in "ab")
                self.assertEqual(a, b, name)


class Failures(unittest.TestCase):
    def check_failed(self, done, *parts, code=1):
        self.assertEqual(done.returncode, code, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_a_full_disk_under_standard_output(self):
        for arguments in (("simulate", "--json"), ("fragmentation",)):
            with open("/dev/full", "w") as full:
                done = subprocess.run(
                    [PROGRAM, *arguments, *SMALL], stdout=full, stderr=subprocess.PIPE, text=True
                )
            self.check_failed(done, "standard output", "No space left on device")

    def test_a_full_disk_under_the_output_of_a_run_that_fails(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [PROGRAM, "verify", "--backend", "gpu"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
            )
        self.check_failed(done, "nothing was checked", "standard output: No space left on device")

    def test_a_full_disk_under_a_timeline(self):
        done = recto("simulate", *SMALL, "--timeline", "/dev/full")
        self.check_failed(done, "/dev/full", "No space left on device")

    def test_what_cannot_be_written_whole_is_removed(self):
        def limit_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

        with tempfile.TemporaryDirectory() as folder:
            done = recto(
                *("simulate", *SMALL, "--timeline", "t.json"), cwd=folder, preexec_fn=limit_files
            )
            self.check_failed(done, "t.json", "File too large")
            self.assertEqual(os.listdir(folder), [])
            done = recto(
                *("fragmentation", *SMALL, "--out", "."), cwd=folder, preexec_fn=limit_files
            )
            self.check_failed(done, "fragmentation.csv", "File too large")
            self.assertEqual(os.listdir(folder), [])

    def test_a_folder_that_is_none(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "file").touch()
            done = recto("fragmentation", *SMALL, "--out", "file/below", cwd=folder)
            self.check_failed(done, "file/below", "Not a directory", code=2)
            done = recto("simulate", *SMALL, "--timeline", "nowhere/t.json", cwd=folder)
            self.check_failed(done, "nowhere/t.json", "No such file or directory", code=2)

    def test_a_folder_without_permission(self):
        if os.geteuid() == 0:
            print("SKIPPED: a folder without permission: root may write anywhere")
            return
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o500)
            done = recto("simulate", *SMALL, "--timeline", "t.json", cwd=folder)
            self.check_failed(done, "t.json", "Permission denied", code=2)


class Terminals(unittest.TestCase):
    def on_terminal(self, **changes):
        """What the program shows on a terminal, both streams."""
        leader, follower = pty.openpty()
        command = [PROGRAM, "fragmentation", *SMALL]
        environs = environment(**changes)
        program = subprocess.Popen(command, stdout=follower, stderr=follower, env=environs)
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 1 << 16)
            except OSError:  # how Linux reports that all writers are gone
                break
            if not part:
                break
            shown += part
        os.close(leader)
        self.assertEqual(program.wait(), 0)
        return shown.decode()

    def test_colour_and_progress_on_terminals_only(self):
        shown = self.on_terminal(TERM="xterm", LANG="C.UTF-8")
        self.assertIn("\x1b[32m█", shown)
        self.assertIn("11/11", shown)
        shown = self.on_terminal(TERM="xterm", LANG="C.UTF-8", NO_COLOR="1")
        self.assertNotIn("\x1b[32m", shown)
        self.assertIn("█", shown)
        self.assertNotIn("\x1b", self.on_terminal(TERM="dumb", LANG="C.UTF-8"))
        done = recto("fragmentation", *SMALL, env=environment(TERM="xterm", LANG="C.UTF-8"))
        self.assertNotIn("\x1b", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_bars_fall_back_to_ascii(self):
        self.assertIn("█", recto("fragmentation", *SMALL, env=environment(LANG="C.UTF-8")).stdout)
        for env, flags in (({}, ()), ({"LC_ALL": "C", "LANG": "C.UTF-8"}, ()),
                           ({"LANG": "C.UTF-8"}, ("--ascii",))):
            done = recto("fragmentation", *SMALL, *flags, env=environment(**env))
            self.assertTrue(done.stdout.isascii(), env)
            self.assertIn("####", done.stdout)


class RealTraces(unittest.TestCase):
    CASES = (
        ("azure-llm-2023-conv.csv", ("--model", "Llama-2-7B", "--gpu", "A100-80")),
        ("mooncake-fast25-conversation.jsonl", ("--model", "Llama-3.1-8B", "--gpu", "H100")),
        ("sharegpt-llama31-8b-300.jsonl", ("--model", "Llama-3.1-8B", "--gpu", "RTX-4090")),
    )

    def test_each_trace_through_both_commands(self):
        for name, flags in self.CASES:
            trace = Path(os.environ.get("RECTO_TRACES", ""), name)
            if not os.environ.get("RECTO_TRACES") or not trace.exists():
                print(f"SKIPPED: {name}: the public traces are not here (RECTO_TRACES)")
                continue
            with self.subTest(name):
                limited = ("--trace", str(trace), "--limit", "300", *flags)
                done = recto("fragmentation", *limited)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("300 requests", done.stdout)
                self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)
                done = recto("simulate", *limited, "--allocator", "prefix-cached", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                counters = json.loads(done.stdout)["report"]["counters"]
                self.assertEqual(counters["requests_arrived"], 300)


if __name__ == "__main__":
    assert os.access(PROGRAM, os.X_OK), PROGRAM
    unittest.main()
