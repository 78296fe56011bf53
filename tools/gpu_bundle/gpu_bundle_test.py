#!/usr/bin/env python3
"""Tests run.sh with a bundle of scripts that act as fake programs on a card.

    gpu_bundle_test.py GPU_BUNDLE_SH
"""

import json
import shutil
import re
import subprocess
import sys
import unittest
from pathlib import Path

from bundle_testing import BundleCase

BENCHMARK = """#!/bin/bash
[[ $1 != --card ]] || { echo FAKE-1; exit 0; }
for word; do
  case $word in
    --benchmark_out=*) out=${word#*=} ;;
    --benchmark_context=*) context=${word#*=} ;;
  esac
done
printf '{"context": {\\n  "host_name": "secret",\\n  "executable": "/secret",\\n' >"$out"
printf '  "flags": "%s"},\\n"benchmarks": []}\\n' "$context $*" >>"$out"
"""
# A fake driver whose card has high clocks while a program is busy, and a program that is busy until
# the clocks were read three times.
DRIVER = """#!/bin/bash
cd "{folder}"
case $* in
  *clocks.sm,clocks.mem*)
    [[ -e busy ]] || {{ echo 345 MHz, 810 MHz; exit; }}
    echo asked >>busy
    echo 1$(wc -l <busy)05 MHz, 2619 MHz ;;
  *) echo 580.95, 1980 MHz, 700.00 W, 31 ;;
esac
"""
BUSY = """
[[ -z $out ]] || : >"{folder}/busy"
for ((i = 0; i < 500; i++)); do
  [[ -n $out && $(wc -l <"{folder}/busy") -lt 3 ]] || break
  sleep 0.1
done
rm -f "{folder}/busy"
"""
CASE = "decode/batch:64/context:4096/group:4/head_dim:128/types:bf16-bf16/block:16"
FIELDS = '{"name": "%s", "run_type": "iteration", "real_time": %d, "time_unit": "us", ' \
         '"median_us": %d, "context": 4096, "group": 4, "fraction_of_copy_rate": 0.5}'
# Fake peers: one is measured, another is wrong. The comparison is the real one.
PEERS = """
import json, sys
from gpu_peers.command_line import main
if sys.argv[1] == "compare":
    sys.exit(main("", sys.argv[1:]))
with open(sys.argv[sys.argv.index("--json") + 1], "w") as file:
    json.dump({"context": {}, "benchmarks": [%s | {"peer": "pretended"}], "not_measured": [
        {"name": "%s", "peer": "other", "state": "wrong", "why": "bits"}]}, file)
sys.exit(1)
""" % (FIELDS % (CASE, 3, 3), CASE)


class Bundle(BundleCase):
    def fakes(self, test="#!/bin/bash\necho fine\n"):
        return [self.fake("law_test_on_gpu", test), self.fake("attention_benchmark", BENCHMARK),
                self.fake("cache_benchmark", BENCHMARK)]

    def test_a_machine_whose_c_library_is_too_old_gets_that_of_the_bundle(self):
        old = ("#!/bin/bash\n[[ -n $VIA_LINKER ]] || { echo \"$0: /lib/libc.so.6: version "
               "\\`GLIBC_9.9' not found (required by $0)\" >&2; exit 1; }\n")
        bundle = self.make([self.fake("law_test_on_gpu", old), self.fake(
            "attention_benchmark", old + BENCHMARK.partition("\n")[2])])
        linker = bundle / "lib" / "system" / "linker"
        linker.write_text('#!/bin/bash\nVIA_LINKER=1 exec "$@"\n')
        linker.chmod(0o755)
        status, printed, complaint = self.run_bundle(bundle)
        self.assertEqual((status, complaint), (0, ""))
        self.assertIn("passed  law_test_on_gpu", printed)

    def test_it_verifies_then_measures_and_says_of_what(self):
        status, printed, complaint = self.run_bundle(self.make(self.fakes()), "--samples", "3")
        self.assertEqual((status, complaint), (0, ""))
        self.assertLess(printed.index("passed  law_test_on_gpu"), printed.index("done: "))
        self.assertNotIn("recto_on_gpu", printed)
        results = self.work / "results" / "FAKE-1"
        self.assertIn("tests: 1 passed (0 of them skipped a part), 0 skipped, 0 failed",
                      (results / "verification.txt").read_text())
        for name in ("attention.json", "cache.json"):
            text = (results / name).read_text()
            self.assertNotIn("secret", text)
            flags = json.loads(text)["context"]["flags"]
            self.assertIn("recto_commit=", flags)
            self.assertIn("driver=", flags)
            self.assertIn("--samples=3", flags)
        self.assertEqual((results / "aims.txt").read_text().count(": not measured\n"), 4)
        if "SKIPPED: peers: no python3 with PyTorch" not in printed:
            self.assertTrue("SKIPPED: peers" in printed or (results / "peers.json").exists())

    def test_clocks_are_those_while_a_program_measures(self):
        self.fake("nvidia-smi", DRIVER.format(folder=self.folder))
        busy = BENCHMARK + BUSY.format(folder=self.folder)
        bundle = self.make([*self.fakes()[:1], self.fake("attention_benchmark", busy)])
        status, _, complaint = self.run_bundle(
            bundle, env={"PATH": f"{self.folder}:/usr/local/bin:/usr/bin:/bin"})
        self.assertEqual((status, complaint), (0, ""))
        results = self.work / "results" / "FAKE-1"
        context = json.loads((results / "attention.json").read_text())["context"]
        self.assertIn("driver=580.95,clock_sm_max=1980 MHz,power_limit=700.00 W,"
                      "temperature_before=31 ", context.pop("flags"))
        self.assertEqual(context, {
            "clock_sm_low": "1105 MHz", "clock_sm": "1205 MHz", "clock_sm_high": "1305 MHz",
            "clock_memory_low": "2619 MHz", "clock_memory": "2619 MHz",
            "clock_memory_high": "2619 MHz"})
        self.assertEqual([path.name for path in results.glob("attention.json*")],
                         ["attention.json"])

    def test_all_laws_are_put_to_the_kernels_before_the_tests(self):
        laws = self.fake("recto_on_gpu", "#!/bin/bash\necho \"laws: $*\"\n")
        status, printed, complaint = self.run_bundle(
            self.make([*self.fakes(), laws]), "--only-verify")
        self.assertEqual((status, complaint), (0, ""))
        cases = sorted(path.stem for path in (self.folder / "bundle" / "cases").iterdir())
        self.assertGreater(len(cases), 10)
        self.assertEqual(re.findall(r"^passed  (.+)$", printed, re.M), [
            *(f"case {name}" for name in cases), "recto_on_gpu", "law_test_on_gpu"])
        results = self.work / "results" / "FAKE-1"
        self.assertRegex((results / "laws.txt").read_text(), r"\Alaws: verify --backend gpu "
                         rf"--cases \d+ --seed 2026 --out {results}/failing-cases/0\n\Z")

    def test_where_a_case_is_wrong_its_log_says_how_and_nothing_is_measured(self):
        replay = self.fake("recto_on_gpu", "#!/bin/bash\necho \"$*\"\n"
                           "[[ $1 != replay || $2 != */gather_* ]]\n")
        status, printed, complaint = self.run_bundle(self.make([*self.fakes(), replay]))
        self.assertEqual(status, 1)
        failed = re.findall(r"^FAILED  case (gather_.+)$", printed, re.M)
        self.assertEqual(len(failed), 1)
        self.assertIn("0 skipped, 1 failed", printed)
        self.assertIn("nothing is measured", complaint)
        logs = list((self.work / "results" / "FAKE-1").glob("*.log"))
        self.assertEqual([log.name for log in logs], [f"case_{failed[0]}.log"])
        self.assertEqual(logs[0].read_text(), f"replay {self.folder}/bundle/cases/{failed[0]}.json "
                         "--backend gpu\n")

    def test_the_tables_of_all_shares_become_one(self):
        laws = self.fake("recto_on_gpu", "#!/bin/bash\n[[ $1 == replay ]] || printf '%s\\n' x '' "
                         "'backend law ' 'a@gpu one 3 0 1 bound 0.'$7 'a@gpu two 4 0 0 bits -' ''")
        bundle = self.make([*self.fakes(), laws])
        self.assertEqual(self.run_bundle(bundle, "--only-verify", "--jobs", "2")[0], 0)
        laws = (self.work / "results" / "FAKE-1" / "laws.txt").read_text().splitlines()
        self.assertEqual(laws[0], "14 checks in 2 shares, probabilistic bounds")
        self.assertEqual([" ".join(line.split()) for line in laws[4:]],
                         ["a@gpu one 6 0 2 bound 0.2027", "a@gpu two 8 0 0 bits -"])

    def test_laws_and_tests_run_in_shares_and_what_is_wrong_is_not_measured(self):
        laws = self.fake("recto_on_gpu", "#!/bin/bash\n[[ $1 == replay ]] || ! echo \"$*\"\n")
        test = "#!/bin/bash\necho $TEST_SHARD_INDEX of $TEST_TOTAL_SHARDS\nfalse\n"
        status, printed, complaint = self.run_bundle(
            self.make([*self.fakes(test), laws]), "--jobs", "3")
        self.assertEqual(status, 1)
        self.assertIn("FAILED  recto_on_gpu\nFAILED  law_test_on_gpu\ntests: ", printed)
        self.assertIn("nothing is measured", complaint)
        results = self.work / "results" / "FAKE-1"
        log = (results / "law_test_on_gpu.log").read_text()
        self.assertEqual(log, "0 of 3\n1 of 3\n2 of 3\n")
        self.assertEqual((results / "laws.txt").read_text(), "".join(
            f"verify --backend gpu --cases 20 --seed {2026 + share} "
            f"--out {results}/failing-cases/{share}\n" for share in range(3)))

    def test_a_test_that_skips_a_part_is_told_and_verification_may_be_all(self):
        bundle = self.make(self.fakes("#!/bin/bash\necho 'SKIPPED: law: no such card'\necho ran\n"))
        status, printed, _ = self.run_bundle(bundle, "--only-verify")
        self.assertEqual(status, 0)
        self.assertIn("SKIPPED: law: no such card", printed)
        self.assertIn("tests: 1 passed (1 of them skipped a part), 0 skipped, 0 failed", printed)
        self.assertFalse((self.work / "results" / "FAKE-1" / "attention.json").exists())

    def test_where_every_test_is_skipped_nothing_is_verified_or_measured(self):
        skipping = "#!/bin/bash\necho 'SKIPPED: law: no GPU'\n"
        bundle = self.make(self.fakes(skipping))
        status, printed, complaint = self.run_bundle(bundle)
        self.assertEqual(status, 1)
        self.assertIn("skipped law_test_on_gpu\n", printed)
        self.assertIn("tests: 0 passed (0 of them skipped a part), 1 skipped, 0 failed", printed)
        self.assertIn("nothing is measured", complaint)
        self.assertFalse((self.work / "results" / "FAKE-1" / "attention.json").exists())
        self.fake("bundle/tests/fine_test_on_gpu", "#!/bin/bash\necho fine\n")
        status, printed, _ = self.run_bundle(bundle, "--only-verify")
        self.assertEqual(status, 0)
        self.assertIn("tests: 1 passed (0 of them skipped a part), 1 skipped, 0 failed", printed)

    def test_a_measurement_that_fails_leaves_no_file(self):
        broken = BENCHMARK + "exit 1\n"
        bundle = self.make([*self.fakes()[:1], self.fake("attention_benchmark", broken)])
        status, _, complaint = self.run_bundle(bundle)
        self.assertEqual(status, 1)
        self.assertIn("a measurement failed", complaint)
        self.assertFalse((self.work / "results" / "FAKE-1" / "attention.json").exists())

    def test_peers_run_from_the_bundle(self):
        bundle = self.make(self.fakes())
        for flag in ("--help", "--list"):
            done = subprocess.run(["python3", "bench_peers/gpu_peers.py", flag], cwd=bundle,
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(CASE, done.stdout)
        modules = {path.stem: path.read_text() for path in bundle.glob("bench_peers/gpu_peers/*")
                   if path.suffix == ".py"}
        for text in modules.values():  # including modules that need PyTorch
            needed = re.findall(r"from \.(\w+) import|from \. import (.+)", text)
            for name in re.findall(r"\w+", " ".join(map(" ".join, needed))):
                self.assertIn(name, modules)

    def test_a_wrong_peer_is_a_failure_and_the_others_are_compared(self):
        torch = self.folder / "packages" / "torch.py"
        torch.parent.mkdir()
        torch.write_text("")
        measured = BENCHMARK.replace("[]", f"[{FIELDS % (CASE, 2, 2)}]")
        bundle = self.make([*self.fakes()[:1], self.fake("attention_benchmark", measured)])
        (bundle / "bench_peers" / "gpu_peers.py").write_text(PEERS)
        status, printed, complaint = self.run_bundle(
            bundle, env={"PYTHONPATH": str(torch.parent), "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(status, 1)
        self.assertEqual(complaint, "run.sh: a peer is wrong, or could not be measured\n")
        results = self.work / "results" / "FAKE-1"
        self.assertRegex((results / "comparison.txt").read_text(), "pretended .* 1.500")
        aims = (results / "aims.txt").read_text()
        self.assertRegex(aims, r"below 1: not measured \(1 of at least 8 cases, .*\); "
                         r"1 of 1 case, wrong 1 time; in few cases: pretended \(1\); "
                         "no figure: other")
        self.assertIn("pretended 0.667, other wrong\n", aims)
        self.assertNotIn("done: ", printed)

    def test_bad_usage(self):
        bundle = self.make(self.fakes())
        for flags in (["--fast"], ["--samples"], ["--jobs", "0"]):
            self.assertEqual(self.run_bundle(bundle, *flags)[0], 2)
        self.assertIn("run.sh [--full]", self.run_bundle(bundle, "--help")[1])
        fresh = self.folder / "fresh"
        for flags, said in (
            (["--out", bundle, "--programs", "x"], "is there already"),
            (["--out", fresh, "--programs", self.folder / "none"], "none is no file"),
            (["--out"], "tools/gpu_bundle.sh [--out DIR]"),
            (["--quick"], "tools/gpu_bundle.sh [--out DIR]"),
        ):
            done = subprocess.run([self.script, *flags], capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(said, done.stderr)
            self.assertFalse(fresh.exists())

    def test_a_bundle_without_tests_or_benchmarks_says_so(self):
        bundle = self.make([self.fake("attention_benchmark", BENCHMARK)])
        code, printed, errors = self.run_bundle(bundle)
        self.assertEqual(code, 1)
        self.assertIn("tests: 0 passed (0 of them skipped a part), 0 skipped, 0 failed", printed)
        self.assertIn("nothing is measured", errors)
        (bundle / "bench" / "attention_benchmark").unlink()
        code, printed, errors = self.run_bundle(bundle)
        self.assertEqual((code, printed), (2, ""))
        self.assertIn("no benchmark in", errors)

    def test_a_bundle_in_the_checkout_does_not_make_its_own_commit_dirty(self):
        if not shutil.which("git"):
            print("SKIPPED: which commit a bundle is of: git is not installed")
            self.skipTest("no git")
        root = self.folder / "checkout"
        shutil.copytree(self.script.parent.parent / "tools", root / "tools")
        # A stand-in for Bazel, with a program that exists.
        (root / "bazelw").write_text("#!/bin/bash\n[[ $1 != query ]] || echo //cuda:law_on_gpu\n")
        (root / "bazelw").chmod(0o755)
        (root / ".gitignore").write_text("bazel-bin\n")
        (root / "bazel-bin/cuda").mkdir(parents=True)
        (root / "bazel-bin/cuda/law_on_gpu").write_text("#!/bin/bash\n")
        git = ["git", "-C", root, "-c", "user.name=n", "-c", "user.email=e"]
        for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
            subprocess.run([*git, *arguments], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True,
                              check=True).stdout
        for out, commit in (("one", head), ("two", head.strip() + "-dirty\n")):
            subprocess.run([root / "tools/gpu_bundle.sh", "--out", root / out],
                           capture_output=True, check=True)
            self.assertEqual((root / out / "COMMIT").read_text(), commit)

    def test_programs_that_were_built_before_are_of_the_commit_that_they_name(self):
        law = self.fake("law_test_on_gpu", "#!/bin/bash\n")
        for number, (said, commit) in enumerate((
                ("echo recto 0.1.0, commit 0123abc-dirty", "0123abc-dirty"),
                ("echo recto 0.1.0, commit unknown", "unknown"), ("exit 1", "unknown"))):
            recto = self.fake("recto_on_gpu", f"#!/bin/bash\n{said}\n")
            bundle = self.folder / f"bundle_{number}"
            subprocess.run([self.script, "--out", bundle, "--programs", law, recto],
                           capture_output=True, check=True)
            self.assertEqual((bundle / "COMMIT").read_text(), commit + "\n")
        self.assertEqual((self.make([law]) / "COMMIT").read_text(), "unknown\n")


if __name__ == "__main__":
    Bundle.script = Path(sys.argv[1]).absolute()
    unittest.main(argv=sys.argv[:1])
