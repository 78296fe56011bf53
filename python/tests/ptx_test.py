#!/usr/bin/env python3
"""Tests of recto.ptx: launches, findings as exceptions, wrong use, and kernels within recto.verify.

    ptx_test.py RECTO_KERNELS INIT_PY [ROW_DECODE_PTX]

ROW_DECODE_PTX: verify/library/cuda_source/testdata/row_decode.cu as nvcc compiles it.
"""

import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

os.environ["RECTO_PROGRAMS"] = str(Path(sys.argv[1]).resolve().parent)
sys.path.insert(0, str(Path(sys.argv[2]).absolute().parents[1]))
ROW_DECODE = Path(sys.argv[3]).resolve() if os.path.exists("".join(sys.argv[3:])) else None

import numpy as np  # noqa: E402

import recto  # noqa: E402

# y[i] = x[i] * factor + shape.offset[0]
SCALE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 factor,
                      .param .align 8 .b8 shape[16])
{
.reg .b32 %r<4>;
.reg .f32 %f<4>;
.reg .b64 %rd<6>;
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.u32 %r1, %r2, %r3, %r1;
mul.wide.u32 %rd1, %r1, 4;
ld.param.u64 %rd2, [x];
add.s64 %rd2, %rd2, %rd1;
ld.global.f32 %f1, [%rd2];
ld.param.f32 %f2, [factor];
ld.param.u64 %rd4, [shape+8];
ld.global.f32 %f3, [%rd4];
fma.rn.f32 %f1, %f1, %f2, %f3;
ld.param.u64 %rd3, [y];
add.s64 %rd3, %rd3, %rd1;
st.global.f32 [%rd3], %f1;
ret;
}
.visible .entry other() { ret; }
"""


class Launches(unittest.TestCase):
    def setUp(self):
        self.module = recto.ptx.Module(SCALE)
        self.scale = self.module.kernel("scale")
        self.x = np.arange(8, dtype=np.float32)
        self.y = np.zeros(8, np.float32)
        self.offset = np.ones(1, np.float32)

    def launch(self, *arguments, dims=(2, 4), **words):
        self.scale[dims](*arguments, (np.int32(7), self.offset), **words)

    def test_arrays_are_read_and_written_in_place(self):
        self.launch(self.x, self.y, 2.0)
        np.testing.assert_array_equal(self.y, self.x * 2 + 1)
        self.launch(self.y, self.y, 1)
        np.testing.assert_array_equal(self.y, self.x * 2 + 2)
        self.launch(self.x, self.y, 3.0, dims=([np.int64(2)], np.uint8(4)), shared=np.int64(0))
        np.testing.assert_array_equal(self.y, self.x * 3 + 1)

    def test_threads_and_shared_memory_are_those_that_triton_chose(self):
        stores = SCALE.replace(".reg .b32 %r<4>;", ".reg .b32 %r<4>, %s;").replace(
            "mov.u32 %r1, %tid.x;", "mov.u32 %s, global_smem;\nmov.u32 %r1, %tid.x;\n"
            "shl.b32 %r2, %r1, 2;\nadd.u32 %s, %s, %r2;\nst.shared.u32 [%s], %r1;").replace(
            ".visible", ".extern .shared .align 16 .b8 global_smem[];\n.visible", 1)
        x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
        metadata = SimpleNamespace(num_warps=1, shared=128)
        compiled = SimpleNamespace(asm={"ptx": stores}, metadata=metadata)
        kernel = recto.ptx.Module(compiled).kernel("scale")
        arguments = (x, y, 2.0, (np.int32(7), self.offset))
        kernel[2, None](*arguments)
        np.testing.assert_array_equal(y, x * 2 + 1)
        with self.assertRaisesRegex(recto.ptx.KernelFault, "global_smem"):
            kernel[2, None](*arguments, shared=124)
        for module in (self.module, recto.ptx.Module(SimpleNamespace(asm={"ptx": SCALE}))):
            with self.assertRaisesRegex(ValueError, "block: expected an integer.*got None.*Triton"):
                module.kernel("scale")[2, None]

    def test_a_module_is_a_file_text_or_bytes_and_says_what_it_has(self):
        self.assertEqual(self.module.kernels, ("scale", "other"))
        self.assertEqual([str(each) for each in self.scale.parameters],
                         ["u64 x", "u64 y", "f32 factor", "b8 shape"])
        self.assertEqual(self.module.kernel("sca").name, "scale")
        with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
            Path(file.name).write_text(SCALE)
            for source in (file.name, Path(file.name), SCALE.encode()):
                self.assertEqual(recto.ptx.Module(source).kernels, self.module.kernels)

    def test_views_are_bounded_by_their_own_elements(self):
        whole = np.zeros((2, 8), np.float32)
        self.launch(self.x, whole[0], 2.0)
        np.testing.assert_array_equal(whole[1], 0)
        with self.assertRaisesRegex(recto.ptx.KernelFault, "past the end of argument 1"):
            self.launch(self.x, whole[0, :7], 2.0)
        np.testing.assert_array_equal(whole[1], 0)
        with self.assertRaisesRegex(recto.ptx.KernelFault, "past the end of argument 0"):
            self.launch(self.x[::-1], self.y, 1.0)

    def test_overlapping_views_are_one_buffer(self):
        pool = np.arange(16, dtype=np.float32)
        self.launch(pool[:8], pool[4:12], 1.0, dims=(1, 4))
        np.testing.assert_array_equal(pool[4:8], [1, 2, 3, 4])

    def test_findings_name_kernel_line_thread_and_buffer(self):
        with self.assertRaises(recto.ptx.KernelFault) as caught:
            self.launch(self.x, self.y, 2.0, dims=(3, 4))
        self.assertRegex(str(caught.exception),
                         r"out of bounds in kernel 'scale': PTX line \d+, ld.global.f32: thread 0 "
                         r"\(warp 0, lane 0\) of block \(2, 0, 0\) reads 4 bytes of memory 0 bytes "
                         r"past the end of argument 0 \(32 bytes\)")
        self.assertEqual(len(caught.exception.findings), 1)

    def test_read_only_and_unwritten_arrays(self):
        self.y.flags.writeable = False
        with self.assertRaisesRegex(recto.ptx.KernelFault, "write to read-only memory"):
            self.launch(self.x, self.y, 2.0)
        self.y = np.zeros(8, np.float32)
        self.launch(self.x, recto.ptx.unwritten(self.y), 2.0)
        with self.assertRaisesRegex(recto.ptx.KernelFault, "which was never written"):
            self.launch(recto.ptx.unwritten(self.x), self.y, 2.0)

    def test_races_between_thread_blocks(self):
        with self.assertRaisesRegex(recto.ptx.KernelFault, "race between thread blocks"):
            self.launch(self.x[:2], self.x[1:3], 1.0, dims=(2, 1))
        for checks in (False, ["undefined-registers"]):
            unchecked = recto.ptx.Module(SCALE, checks=checks).kernel("scale")
            unchecked[2, 4](recto.ptx.unwritten(self.x), self.y, 1.0, (np.int32(0), self.offset))

    def test_equal_stores_are_races_unless_they_are_allowed_or_triton_compiled_them(self):
        store = SCALE[:SCALE.index(".visible")] + (
            ".visible .entry store(.param .u64 y)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [y];\n"
            "st.global.f32 [%rd1], 0f3F800000;\nret;\n}\n")
        compiled = SimpleNamespace(asm={"ptx": store})
        for module in (recto.ptx.Module(store), recto.ptx.Module(compiled, equal_stores=False)):
            with self.assertRaisesRegex(recto.ptx.KernelFault, "race in kernel 'store'"):
                module.kernel()[1, 64](self.y)
        for module in (recto.ptx.Module(store, equal_stores=True), recto.ptx.Module(compiled)):
            module.kernel()[1, 64](self.y)
        self.assertEqual(self.y[0], 1)

    def test_wrong_arguments_are_told(self):
        for arguments, text in (
            ((self.x, self.y, "2"), r"argument 2 \(f32\): expected a number"),
            ((self.x, 3.5, 2.0), "argument 1"),
            ((np.array([None]), self.y, 2.0), "argument 0: expected numbers, got an array of"),
            ((self.x, self.y, self.x), "expected 4 bytes, got 8"),
            ((self.x, self.y, np.int64(2)), "expected 4 bytes, got 8"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.launch(*arguments)
        for fields in ((1,), ("a",)):
            with self.assertRaisesRegex(ValueError, "field 0: expected"):
                self.scale[1, 1](self.x, self.y, 2.0, fields)
        with self.assertRaisesRegex(ValueError, "expected 16 bytes, got 8"):
            self.scale[1, 1](self.x, self.y, 2.0, (self.offset,))
        with self.assertRaisesRegex(ValueError, "argument 2 .*expected a value"):
            self.scale[1, 1](self.x, self.y)
        with self.assertRaisesRegex(ValueError, "expected 4 arguments, got 5"):
            self.scale[1, 1](self.x, self.y, 2.0, bytes(16), 1)
        for dims in ((1, 2, 3), 4, ((1, 2, 3, 4), 1), (-1, 1), (1.5, 1), ((8 / 4,), 1), ("1", 1)):
            with self.assertRaisesRegex(ValueError, "expected"):
                self.scale[dims](self.x, self.y, 2.0, bytes(16))
        with self.assertRaisesRegex(recto.ptx.KernelFault, "invalid launch"):
            self.launch(self.x, self.y, 2.0, dims=(1, 2048))

    def test_wrong_modules_are_told(self):
        with self.assertRaisesRegex(ValueError, "line 3"):
            recto.ptx.Module(".version 8.0\n.target sm_80\nnonsense\n")
        with self.assertRaisesRegex(ValueError, "expected one of scale, other"):
            self.module.kernel("third")
        with self.assertRaisesRegex(ValueError, "expected one of"):
            self.module.kernel()
        with self.assertRaisesRegex(ValueError, "checks: expected names of races"):
            recto.ptx.Module(SCALE, checks=["race"])
        with self.assertRaisesRegex(ValueError, "policy: expected one of"):
            recto.ptx.Module(SCALE, policy="none")
        with self.assertRaises(FileNotFoundError):
            recto.ptx.Module("none.ptx")
        with self.assertRaisesRegex(ValueError, re.escape(__file__) + ": line 1"):
            recto.ptx.Module(__file__)
        with self.assertRaisesRegex(TypeError, "got int"):
            recto.ptx.Module(3)
        refused = SCALE.replace("ret;", "tcgen05.wait::ld.sync.aligned;\nret;", 1)
        with self.assertRaisesRegex(ValueError, "tcgen05"):
            recto.ptx.Module(refused).kernel("scale")[1, 1](self.x, self.y, 2.0, bytes(16))
        recto.ptx.Module(refused).kernel("other")[1, 1]()

    def test_a_fork_has_a_process_of_its_own(self):
        reading, writing = os.pipe()
        self.launch(self.x, self.y, 1.0)
        child = os.fork()
        if child == 0:
            try:
                self.launch(self.x, self.y, 3.0)
                os.write(writing, self.y.tobytes())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        np.testing.assert_array_equal(np.frombuffer(os.read(reading, 32), np.float32),
                                      self.x * 3 + 1)
        self.launch(self.x, self.y, 2.0)
        np.testing.assert_array_equal(self.y, self.x * 2 + 1)


WORDS = dict(types=["fp32"], layouts=["token-major", "head-major"], equal_head_dims=True, cases=6,
             without=["softcap", "window", "alibi", "sinks"], context_max=60, sequences_max=3,
             q_heads_max=4, laws=["oracle", "unaddressed_slots"], kinds=["small"], explain=False)


@unittest.skipUnless(ROW_DECODE, "there was no nvcc to make PTX of row_decode.cu")
class WithinVerify(unittest.TestCase):
    def decode_with(self, fault):
        kernel = recto.ptx.Module(ROW_DECODE).kernel("row_decode")

        def steps(array):
            return [np.int64(step // array.itemsize) for step in array.strides]

        def decode(call):
            out = np.empty(call.out.shape, np.float32)
            if call.num_seqs == 0:
                return out
            lse_ln = np.empty(out.shape[:2], np.float32)
            q, k, v = steps(call.q), steps(call.k_cache), steps(call.v_cache)
            slot, head = (1, 2) if call.layout == "token-major" else (2, 1)
            numbers = (call.num_q_heads, call.num_q_heads // call.num_kv_heads, call.head_dim_k,
                       call.block_size)
            kernel[(call.num_q_heads, call.num_seqs), (call.head_dim_k + 31) // 32 * 32]((
                call.q, call.k_cache, call.v_cache, call.block_table, call.context_length,
                recto.ptx.unwritten(out), recto.ptx.unwritten(lse_ln),
                q[0], q[1], steps(call.block_table)[0], k[0], k[head], k[slot],
                v[0], v[head], v[slot], *map(np.int32, numbers), np.float32(call.scale),
                np.int32(fault)))
            return out, lse_ln
        return decode

    def verify(self, fault, **words):
        with tempfile.TemporaryDirectory() as folder:
            return recto.verify(decode=self.decode_with(fault), folder=folder,
                                **{**WORDS, **words})

    def test_a_right_kernel_passes_in_this_process_and_in_a_fork(self):
        for words in ({}, {"isolate": True, "cases": 2}):
            report = self.verify(0, **words)
            self.assertTrue(report.passed, str(report))

    def test_a_race_is_a_failure_with_its_case(self):
        report = self.verify(1)
        self.assertFalse(report.passed)
        text = report.failures[0].text
        self.assertIn("raised recto.ptx.KernelFault: race in kernel", text)
        self.assertRegex(text, r"row_decode.cuh:\d+")
        self.assertIn("q heads", text)

    def test_a_buffer_is_named_by_its_argument(self):
        kernel = recto.ptx.Module(SCALE).kernel("scale")
        offset = np.ones(1, np.float32)

        class Tensor:
            device = "cpu"

            def __init__(self, array):
                self.array, self.shape = array, array.shape

            def data_ptr(self):
                return self.array.ctypes.data

            def element_size(self):
                return self.array.itemsize

            def stride(self):
                return [step // self.array.itemsize for step in self.array.strides]

        for wrap in (np.asarray, Tensor):
            def decode(call):
                kernel[1, 1](wrap(call.context_length), wrap(call.q), 1.0, (np.int32(0), offset))

            with self.subTest(wrap), tempfile.TemporaryDirectory() as folder:
                report = recto.verify(decode=decode, folder=folder, **{**WORDS, "cases": 1})
                self.assertIn("write to read-only memory", report.failures[0].text)
                self.assertIn("writes 4 bytes of q+0", report.failures[0].text)


if __name__ == "__main__":
    if ROW_DECODE is None:
        print("SKIPPED: WithinVerify: there was no nvcc to make PTX of row_decode.cu")
    unittest.main(argv=sys.argv[:1], verbosity=2)
