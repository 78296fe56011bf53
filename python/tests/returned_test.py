#!/usr/bin/env python3
"""Tests of functions that return something else, raise, print, fork, change or keep arguments.

    returned_test.py RECTO_KERNELS INIT_PY
"""

import contextlib
import io
import os
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

os.environ["RECTO_PROGRAMS"] = str(Path(sys.argv[1]).resolve().parent)
sys.path.insert(0, str(Path(sys.argv[2]).absolute().parents[1]))
sys.path.insert(0, str(Path(__file__).absolute().parent))

import numpy as np  # noqa: E402

import kernels_testing as kernels  # noqa: E402
import recto  # noqa: E402
from recto import _isolated  # noqa: E402

WORDS = dict(cases=4, context_max=60, sequences_max=4, rows_max=8, q_heads_max=8, types=["fp32"],
             laws=["oracle"], kinds=["small"], layouts=["token-major"], explain=False,
             without=["empty"])


class Returned(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def verify(self, function, **words):
        return recto.verify(decode=function, folder=self.folder / "failing", **{**WORDS, **words})

    def expect(self, function, *texts, **words):
        """Each text is in the first failure, which has a case."""
        report = self.verify(function, **words)
        self.assertGreater(report.failed, 0)
        for text in texts:
            self.assertIn(text, report.failures[0].text)
        self.assertIn("q heads", report.failures[0].text)
        return report.failures[0]


class WrongResults(Returned):
    def test_each_is_told_by_its_argument(self):
        out = kernels.without_lse_ln
        for function, text in (
            (lambda call: None, "out: expected an array, got None"),
            (lambda call: out(call)[None], "out: expected shape ["),
            (lambda call: np.zeros(call.out.shape, np.int32), "out: expected float32 or float64"),
            (lambda call: np.zeros(call.out.shape, np.complex64), "got complex64"),
            (lambda call: out(call).tolist(), "out: expected a NumPy array or a tensor, got list"),
            (lambda call: 3.0, "got float"),
            (lambda call: (out(call), out(call)), "lse_ln: expected shape ["),
            (lambda call: (out(call), None, None), "result: expected out or (out, lse_ln), got 3"),
            (lambda call: call.q, "out: expected"),
        ):
            with self.subTest(text):
                self.expect(function, "decode returned a wrong result: ", text)

    def test_views_of_arguments_and_arrays_with_gaps(self):
        self.expect(lambda call: call.q[...], "out: expected memory of its own, got a view of q",
                    equal_head_dims=True)
        self.expect(lambda call: np.repeat(kernels.without_lse_ln(call), 2, -1)[..., ::2],
                    "out: expected a contiguous array, got strides", without=["empty"])

    def test_the_kind_of_a_failure_is_what_happened(self):
        def divides(call):
            return 1 // 0

        failure = self.expect(divides, "decode raised ZeroDivisionError", "in divides",
                              "return 1 // 0")
        self.assertIn("raised ZeroDivisionError", failure.kind)

    def test_an_exception_is_told_without_its_notes(self):
        def raises(call):
            error = ValueError("the cause")
            error.__notes__ = ["JAX has removed\nits frames"]
            raise error

        self.expect(raises, "decode raised ValueError: the cause")

    def test_results_that_are_rounded_to_qs_type(self):
        for types in (["fp16"], ["bf16"], ["fp32"]):
            for dtype in (np.float32, np.float64):
                report = self.verify(lambda call: kernels.without_lse_ln(call).astype(dtype),
                                     types=types)
                report.raise_for_failures()


class Behaviour(Returned):
    def test_an_input_that_is_changed(self):
        def changes(call):
            out = kernels.without_lse_ln(call)
            call.q[...] = 0
            return out

        self.expect(changes, "decode raised ValueError: assignment destination is read-only: the "
                    "arguments of a call must not be changed", "call.q[...] = 0")

    def test_an_input_that_is_changed_behind_numpys_back(self):
        def changes(call):
            out = kernels.without_lse_ln(call)
            codes = call._arguments.codes("k_cache")
            codes[-1, -1, -1, -1] = 1e9
            return out

        self.expect(changes, "a write at byte", "of k_cache, which may only be read")

    def test_a_write_beyond_an_array(self):
        def overruns(call):
            out = kernels.without_lse_ln(call)
            memory, place = call._arguments._memory, call._arguments.places["out"]
            beyond = memory.array(place.pointer + 4 * place.extent, "u1", (9000,), (1,))
            beyond[...] = 7
            del beyond, memory
            return out

        self.expect(overruns, "went beyond its memory", "of out, which has")

    def test_arguments_that_are_kept(self):
        kept = []

        def keeps(call):
            kept.append(call.k_cache[:1])
            return kernels.without_lse_ln(call)

        self.expect(keeps, "kept an argument: k_cache", "copy what you keep")

    def test_a_call_that_is_used_after_its_end(self):
        calls = []

        def keeps(call):
            calls.append(call)
            return kernels.without_lse_ln(call)

        self.verify(keeps).raise_for_failures()
        with self.assertRaisesRegex(RuntimeError, "q: the call has ended"):
            calls[0].q

    def test_what_is_printed_is_shown_with_a_failure_and_passed_on(self):
        def prints(call):
            print("looked at", call.num_seqs)
            return kernels.without_lse_ln(call) + 1

        with contextlib.redirect_stdout(io.StringIO()) as passed_on:
            self.expect(prints, "it printed", "looked at")
        self.assertIn("looked at", passed_on.getvalue())

    def test_a_fork_that_returns(self):
        def forks(call):
            process = os.fork()
            out = kernels.without_lse_ln(call)
            if process:
                os.waitpid(process, 0)
            return out

        self.expect(forks, "decode forked, and the child returned as well")

    def test_skips_are_counted_by_their_reason(self):
        def serves_few(call):
            if call.num_seqs > 1:
                raise recto.Unsupported("more than one sequence")
            return kernels.without_lse_ln(call)

        report = self.verify(serves_few, cases=8)
        report.raise_for_failures()
        self.assertTrue(any("more than one sequence" in reason for reason in report.skips) or
                        report.cases)

    def test_a_function_that_serves_nothing_does_not_pass(self):
        def refuses(call):
            raise recto.Unsupported("it is Friday")

        report = self.verify(refuses, cases=2)
        self.assertFalse(report.passed)
        self.assertIn("skipped", report.message)
        with self.assertRaises(recto.CaseFailed):
            report.raise_for_failures()

    def test_an_interrupt_ends_the_run_and_names_the_call(self):
        def interrupted(call):
            raise KeyboardInterrupt

        with self.assertRaisesRegex(KeyboardInterrupt, r"'decode', .* q \[\d.*\].*isolate=True"):
            self.verify(interrupted)


class Isolated(Returned):
    def verify(self, function, **words):
        return super().verify(function, isolate=True, **words)

    def test_right_functions_pass(self):
        self.verify(kernels.attention, cases=6).raise_for_failures()

    def test_crashes_and_exits(self):
        def crashes(call):
            if os.fork() == 0:
                time.sleep(1000)  # with the files of its parent
            os.kill(os.getpid(), signal.SIGSEGV)

        def leaves(call):
            os._exit(3)

        failure = self.expect(crashes, "decode was ended by SIGSEGV")
        self.assertEqual(failure.kind, "SIGSEGV")
        self.expect(leaves, "decode ended its process, with exit code 3")

    def test_an_end_between_two_calls_is_one_of_the_second(self):
        answer = _isolated.IsolatedAnswerer.answer

        def answers_and_ends(self):
            answer(self)
            if self._process is not None:
                os.kill(self._process, signal.SIGKILL)
                os.waitid(os.P_PID, self._process, os.WEXITED | os.WNOWAIT)

        with mock.patch.object(_isolated.IsolatedAnswerer, "answer", answers_and_ends):
            self.expect(kernels.attention, "decode was ended by SIGKILL")

    def test_hangs(self):
        def hangs(call):
            time.sleep(1000)

        def spins(call):
            while True:
                pass

        self.expect(hangs, "hangs: it did not return", time_limit=0.1)
        # On a busy machine the limit by the clock may come first.
        self.expect(spins, "did not return within", "ms of CPU time", time_limit=0.1)

    def test_stray_writes_fault(self):
        import ctypes

        def writes(call):
            address = call._arguments.codes("q").__array_interface__["data"][0]
            ctypes.memset(address, 0, 4)
            return kernels.without_lse_ln(call)

        def overruns(call):
            memory, place = call._arguments._memory, call._arguments.places["out"]
            ctypes.memset(memory.address + place.pointer - memory.base + (1 << 20), 0, 4)
            return kernels.without_lse_ln(call)

        for function in (writes, overruns):
            self.expect(function, "decode was ended by SIGSEGV", "Segmentation fault",
                        f"in {function.__name__}")

    def test_what_is_printed_is_shown(self):
        def prints(call):
            print("looked at it")
            return kernels.without_lse_ln(call) + 1

        self.expect(prints, "looked at it")


class Usage(Returned):
    def test_messages_use_pythons_words(self):
        for words, error, text in (
            (dict(types=["fp64"]), recto.UsageError, "types: found 'fp64'"),
            (dict(head_dim=64), TypeError, "did you mean 'head_dims'"),
            (dict(context_max=0), recto.UsageError, "context_max"),
            (dict(without=[]), ValueError, "without: expected one value at least"),
            (dict(bound=""), ValueError, "bound: expected one value at least"),
            (dict(require=["window"], without=["window"]), recto.UsageError, "require"),
            (dict(require=["rows-beyond-context"], rows_max=1), recto.UsageError,
             "no drawn case meets"),
            (dict(laws=["gravity"]), recto.UsageError, "laws: found 'gravity'"),
            (dict(time_limit=3), TypeError, "isolate"),
        ):
            with self.subTest(text):
                with self.assertRaises(error) as raised:
                    self.verify(kernels.without_lse_ln, **words)
                self.assertIn(text, str(raised.exception))
        with self.assertRaisesRegex(TypeError, "expected decode="):
            recto.verify()
        with self.assertRaisesRegex(TypeError, "decode: expected a function, got int"):
            recto.verify(decode=3)

    def test_programs_that_are_not_there(self):
        before = os.environ["RECTO_PROGRAMS"]
        os.environ["RECTO_PROGRAMS"] = "/nowhere"
        try:
            with self.assertRaisesRegex(FileNotFoundError, "recto_kernels: expected an executable"):
                self.verify(kernels.without_lse_ln)
        finally:
            os.environ["RECTO_PROGRAMS"] = before


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
