#!/usr/bin/env python3
"""Tests of the options of recto.ptx: clusters, approximate instructions, counters.

    ptx_options_test.py RECTO_KERNELS INIT_PY
"""

import os
import sys
import unittest
from pathlib import Path

os.environ["RECTO_PROGRAMS"] = str(Path(sys.argv[1]).resolve().parent)
sys.path.insert(0, str(Path(sys.argv[2]).absolute().parents[1]))

import numpy as np  # noqa: E402

import recto  # noqa: E402

# y[i] = 2 ** x[i], and the number of thread blocks of the own cluster
EXPONENTIAL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry exponential(.param .u64 x, .param .u64 y, .param .u64 cluster)
{
.reg .pred %p<2>;
.reg .b32 %r<4>;
.reg .f32 %f<3>;
.reg .b64 %rd<6>;
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd1, %r1, 4;
ld.param.u64 %rd2, [x];
add.s64 %rd2, %rd2, %rd1;
ld.global.f32 %f1, [%rd2];
ex2.approx.f32 %f2, %f1;
ld.param.u64 %rd3, [y];
mov.u32 %r2, %ctaid.x;
mul.wide.u32 %rd4, %r2, 128;
add.s64 %rd3, %rd3, %rd1;
add.s64 %rd3, %rd3, %rd4;
st.global.f32 [%rd3], %f2;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra DONE;
mov.u32 %r3, %cluster_nctarank;
ld.param.u64 %rd5, [cluster];
mul.wide.u32 %rd4, %r2, 4;
add.s64 %rd5, %rd5, %rd4;
st.global.u32 [%rd5], %r3;
DONE:
ret;
}
"""


def aligned(values, dtype):
    """An array that begins a sector of 32 bytes."""
    values = np.asarray(values, dtype)
    room = np.zeros(values.nbytes + 32, np.uint8)
    begin = -room.ctypes.data % 32
    array = room[begin:begin + values.nbytes].view(dtype).reshape(values.shape)
    array[...] = values
    return array


class Options(unittest.TestCase):
    def setUp(self):
        self.x = aligned(np.linspace(-3, 3, 32), np.float32)
        self.y = aligned(np.zeros((4, 32)), np.float32)
        self.cluster = aligned(np.zeros(4), np.uint32)
        self.arguments = (self.x, self.y, self.cluster)

    def test_thread_blocks_of_a_cluster(self):
        kernel = recto.ptx.Module(EXPONENTIAL).kernel()
        for given, expected in ((None, 1), (2, 2), ([4, 1], 4)):
            kernel[4, 32](*self.arguments, cluster=given)
            np.testing.assert_array_equal(self.cluster, expected)
        with self.assertRaisesRegex(recto.ptx.KernelFault, "invalid launch.*cluster"):
            kernel[4, 32](*self.arguments, cluster=3)
        with self.assertRaisesRegex(ValueError, "cluster: expected an integer or up to three"):
            kernel[4, 32](*self.arguments, cluster="2")

    def test_approximate_instructions_are_off_by_their_documented_error(self):
        exact = np.exp2(self.x.astype(np.float64))
        recto.ptx.Module(EXPONENTIAL).kernel()[4, 32](*self.arguments)
        accurate = self.y.copy()
        np.testing.assert_array_equal(accurate, np.broadcast_to(exact.astype(np.float32), (4, 32)))
        results = []
        for seed in (1, 1, 2):
            module = recto.ptx.Module(EXPONENTIAL, seed=seed)
            module.approximate = True
            module.kernel()[4, 32](*self.arguments)
            results.append(self.y.copy())
            np.testing.assert_allclose(self.y, accurate, rtol=2 ** -21)
        self.assertTrue((results[0] != accurate).any())
        np.testing.assert_array_equal(results[0], results[1])
        self.assertTrue((results[0] != results[2]).any())

    def test_a_launch_counts_what_it_executes(self):
        counters = recto.ptx.Module(EXPONENTIAL).kernel()[4, 32].count(*self.arguments)
        np.testing.assert_array_equal(self.cluster, 1)  # it ran
        self.assertEqual((counters.by_kind["load"], counters.by_kind["store"]), (4, 8))
        self.assertEqual(counters.global_bytes, 4 * (128 + 128 + 4))
        self.assertEqual(counters.global_sectors, 4 * (4 + 4 + 1))
        self.assertEqual(counters.bank_conflicts, 0)
        self.assertEqual(counters.instructions, sum(counters.by_kind.values()))
        strided = self.x.reshape(8, 4)[:, 0]
        with self.assertRaisesRegex(recto.ptx.KernelFault, "past the end of argument 0"):
            recto.ptx.Module(EXPONENTIAL).kernel()[1, 32].count(strided, self.y, self.cluster)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
