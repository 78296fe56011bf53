#!/usr/bin/env python3
"""third_party.py without a network: its tables, packages from a folder, messages, and faults that a
program in place of recto finds or misses."""

import hashlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

HERE = Path("tools/third_party").resolve()
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

import faults  # noqa: E402
import packages  # noqa: E402
import subjects  # noqa: E402
import third_party  # noqa: E402

FAULT = subjects.Fault("a fault", "flashinfer-decode", "kernel.cuh", before="  sync();\n",
                       after="", check="race", found_at="read();")
KERNEL = "write();\n  sync();\n  other();\nread();\n"


class ThirdPartyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.environment = dict(os.environ)
        self.addCleanup(os.environ.update, self.environment)
        os.environ.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.folder),
                          RECTO_NVCC="an nvcc that is not called")

    def program(self, body):
        path = self.folder / "recto"
        path.write_text("#!/bin/sh\n" + body, encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def run_main(self, *arguments):
        """Exit code, output, errors."""
        out, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(errors):
            try:
                code = third_party.main(arguments)
            except SystemExit as stopped:
                code = stopped.code
        return code, out.getvalue(), errors.getvalue()

    def check_refused(self, arguments, *words):
        code, _, errors = self.run_main("--cache", str(self.folder / "cache"), *arguments)
        self.assertEqual(code, 2)
        lines = [line for line in errors.splitlines() if line.startswith("third_party")]
        self.assertEqual(len(lines), 1, errors)
        for word in words:
            self.assertIn(word, lines[0])

    def wheel(self, **files):
        """A package of these files; `__` stands for `/`."""
        path = self.folder / "tiny-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("tiny-1.0.dist-info/METADATA",
                             "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
            archive.writestr("tiny-1.0.dist-info/WHEEL",
                             "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr("tiny-1.0.dist-info/RECORD", "")
            for name, text in files.items():
                archive.writestr(name.replace("__", "/").replace("_cuh", ".cuh"), text)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        return packages.Package("tiny", "1.0", sha256, is_wheel=True)

    def cached(self, subject, **files):
        """A cache with these files in the subject's first include folder."""
        cache = self.folder / "cache"
        for name in subject.include_folders:
            (cache / subject.package.folder / name).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = cache / subject.package.folder / subject.include_folders[0] / (name + ".cuh")
            path.write_text(text, encoding="utf-8")
        return cache

    def test_the_tables_are_sound(self):
        for name, subject in subjects.SUBJECTS.items():
            self.assertEqual(name, subject.name)
            self.assertTrue((HERE / subject.adapter).is_file(), subject.adapter)
            self.assertRegex(subject.package.sha256, "^[0-9a-f]{64}$")
            self.assertRegex(subject.package.version, r"^\d+(\.\d+)+$")
            for flag in subject.filters[::2]:
                self.assertRegex(flag, "^--[a-z-]+$")
            for edit in subject.edits:
                self.assertNotEqual(edit.before, edit.after)
        for fault in subjects.FAULTS:
            self.assertIn(fault.subject, subjects.SUBJECTS)
            self.assertNotEqual(fault.before, fault.after)
        adapters = {subject.adapter for subject in subjects.SUBJECTS.values()}
        self.assertEqual(adapters, {path.name for path in HERE.glob("*.cc")})

    def test_the_readme_has_a_row_for_each_subject_and_fault(self):
        text = (HERE / "README.md").read_text(encoding="utf-8")
        for name, subject in subjects.SUBJECTS.items():
            row = re.search(rf"^\| `{name}` \|.*$", text, re.MULTILINE)
            self.assertTrue(row, name)
            self.assertIn(subject.package.version, row.group(0))
        for fault in subjects.FAULTS:
            self.assertRegex(text, rf"(?m)^\| {fault.name} \| {fault.check} \|")

    def test_the_list_names_packages_and_versions(self):
        code, out, _ = self.run_main("--list")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"flash-attn +flash-attn \d")
        self.assertEqual(len(out.splitlines()), len(subjects.SUBJECTS))

    def test_bad_usage_names_what_was_expected(self):
        self.check_refused(["nonsense"], "nonsense", "expected vllm-v1-fp16")
        self.check_refused([], "no subject")
        self.check_refused(["vllm-v1-fp16", "vllm-v1-bf16"], "vllm-v1-bf16", "one subject")
        self.check_refused(["faults", "nonsense"], "nonsense")
        recto = self.program("exit 0\n")
        self.check_refused(["--recto", recto, "faults", "vllm-v1-fp16"], "no faults",
                           "flashinfer-decode")

    def test_what_is_missing_is_named(self):
        self.check_refused(["--recto", "none", "vllm-v1-fp16"], "none: expected the program recto")
        self.check_refused(["--recto", str(self.folder), "vllm-v1-fp16"],
                           "expected the program recto")
        recto = self.program("exit 0\n")
        self.check_refused(["--recto", recto, "vllm-v1-fp16"], "vllm 0.10.2: expected pip to")

    def test_a_missing_nvcc_is_named_before_anything_is_fetched(self):
        recto = self.program("exit 0\n")
        code = "import sys, third_party, build_cuda_library as kit\n" \
               "def none(): raise kit.Refusal('no nvcc: install one')\n" \
               "kit.find_nvcc = none\nsys.exit(third_party.main(sys.argv[1:]))"
        done = subprocess.run([sys.executable, "-B", "-c", code, "--recto", recto, "vllm-v1-fp16"],
                              cwd=HERE, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "third_party: no nvcc: install one\n"))

    @unittest.skipUnless(importlib.util.find_spec("pip"), "no pip")
    def test_a_package_is_fetched_once_and_its_hash_counts(self):
        package = self.wheel(include__kernel_cuh=KERNEL)
        cache = self.folder / "made" / "on demand"
        folder = packages.fetch(package, cache)
        self.assertEqual((folder / "include/kernel.cuh").read_text(encoding="utf-8"), KERNEL)
        self.assertEqual([path.name for path in cache.iterdir()], ["tiny-1.0"])
        os.environ["PIP_FIND_LINKS"] = ""
        self.assertEqual(packages.fetch(package, cache), folder)
        os.environ["PIP_FIND_LINKS"] = str(self.folder)
        with self.assertRaisesRegex(packages.Refusal, "tiny 1.0: .*ERROR.*DO NOT MATCH THE HASHES"):
            packages.fetch(replace(package, sha256="0" * 64), self.folder / "other")
        self.assertEqual(list((self.folder / "other").iterdir()), [])

    def test_a_cache_that_cannot_be_made_is_named(self):
        (self.folder / "file").write_text("")
        with self.assertRaisesRegex(packages.Refusal, "file.*: "):
            packages.fetch(self.wheel(), self.folder / "file" / "cache")

    def test_recto_gets_adapter_folders_macros_filters_and_flags(self):
        subject = subjects.SUBJECTS["vllm-v2-fp16"]
        cache = self.cached(subject)
        recto = self.program(f'echo "$@" >{self.folder}/arguments\nexit 1\n')
        code, _, _ = self.run_main("--recto", recto, "--cache", str(cache), subject.name,
                                   "--cases", "7")
        self.assertEqual(code, 1)
        text = (self.folder / "arguments").read_text(encoding="utf-8").strip()
        adapter = f"{third_party.HERE}/vllm_adapter.cc"
        self.assertTrue(text.startswith(f"verify --adapter {adapter} --include "), text)
        for part in (f"--include {cache}/vllm-0.10.2/csrc", "--define VLLM_V2", "--layout packed"):
            self.assertIn(part, text)
        self.assertTrue(text.endswith("--cases 7"), text)

    def test_nvcc_gets_the_options_of_the_package_s_own_build(self):
        recto = self.program(f'echo "$@" >{self.folder}/arguments\n')
        for name, expected in (("flash-attn", True), ("vllm-v1-fp16", False)):
            cache = self.cached(subjects.SUBJECTS[name])
            code, _, _ = self.run_main("--recto", recto, "--cache", str(cache), name)
            self.assertEqual(code, 0)
            text = (self.folder / "arguments").read_text(encoding="utf-8")
            self.assertEqual("--nvcc-option --use_fast_math" in text, expected, text)

    def test_a_package_without_the_folder_is_named(self):
        subject = subjects.SUBJECTS["vllm-v1-fp16"]
        (self.folder / "cache" / subject.package.folder).mkdir(parents=True)
        self.check_refused(["--recto", self.program("exit 0\n"), "vllm-v1-fp16"], "csrc",
                           "expected a folder of vllm-0.10.2")

    def test_a_fault_is_planted_and_its_line_found(self):
        include = self.folder / "include"
        include.mkdir()
        (include / "kernel.cuh").write_text(KERNEL, encoding="utf-8")
        self.assertEqual(faults.plant(FAULT, include, self.folder / "copy"), 3)
        self.assertEqual((self.folder / "copy/kernel.cuh").read_text(encoding="utf-8"),
                         "write();\n  other();\nread();\n")
        right = "x\n race in kernel 'k': /a/kernel.cuh:3 (PTX line 9, ld): thread 0 reads\n"
        self.assertIn("kernel.cuh:3", faults.finding_in(FAULT, 3, right))
        for wrong in ("race in kernel 'k': /a/kernel.cuh:31 (", "race in kernel 'k': o.cuh:3 (",
                      "out of bounds in kernel 'k': /a/kernel.cuh:3 (", "kernel.cuh:3", ""):
            self.assertIsNone(faults.finding_in(FAULT, 3, wrong), wrong)

    def test_a_subject_s_edits_are_made_in_a_copy(self):
        edits = (subjects.Edit("kernel.cuh", "  sync();\n", "  first();\n"),
                 subjects.Edit("kernel.cuh", "first();", "second();"))
        subject = replace(subjects.SUBJECTS["flashinfer-prefill"], edits=edits)
        cache = self.cached(subject, kernel=KERNEL)
        original = cache / subject.package.folder / subject.include_folders[0] / "kernel.cuh"
        recto = self.program(f'cat "$5/kernel.cuh" >>{self.folder}/judged\n')
        for _ in range(2):
            with redirect_stdout(io.StringIO()):
                self.assertEqual(third_party.verify(subject, recto, cache, []), 0)
        text = (self.folder / "judged").read_text(encoding="utf-8")
        self.assertEqual(text, 2 * KERNEL.replace("sync", "second"))
        self.assertEqual(original.read_text(encoding="utf-8"), KERNEL)

    def test_an_edit_that_does_not_match_is_an_error(self):
        include = self.folder / "include"
        include.mkdir()
        for name, change in (("no file", {"file": "none.cuh"}), ("none", {"before": "barrier();"}),
                             ("several", {"before": "();\n"}), ("no line", {"found_at": "scan();"}),
                             ("lines", {"found_at": "r"})):
            (include / "kernel.cuh").write_text(KERNEL, encoding="utf-8")
            with self.subTest(name), self.assertRaisesRegex(packages.Refusal, "^a fault: .*cuh: "):
                faults.plant(replace(FAULT, **change), include, self.folder / f"copy {name}")

    def test_faults_that_recto_misses_fail(self):
        subject = subjects.SUBJECTS["flashinfer-decode"]
        cache = self.cached(subject, kernel=KERNEL)
        for line, expected in ((3, 0), (4, 1)):
            recto = self.program(f"echo \"race in kernel 'k': kernel.cuh:{line} (PTX line 9)\"\n")
            with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()):
                self.assertEqual(third_party.find_faults([FAULT], recto, cache, []), expected)
            self.assertIn("race at kernel.cuh:3", out.getvalue())
            self.assertIn("found: " if expected == 0 else "missed", out.getvalue())


if __name__ == "__main__":
    unittest.main()
