#!/usr/bin/env python3
"""Checks that peers run the default cases of recto's benchmark under the same names, so that
results can be compared.

    peer_cases_test.py ATTENTION_BENCHMARK GPU_PEERS_PY
"""

import re
import subprocess
import sys
import unittest

BENCHMARK, PEERS = sys.argv[1:3]
del sys.argv[1:3]

# Cases of recto's benchmark alone: fp8 and contiguous K and V, which no peer serves; other kernels
# and layouts of a case with its own name; steps and their layers.
OF_RECTO_ALONE = r"/types:bf16-e4m3/|/block:contiguous$|^decode_(?!skewed)|^(layers|step)_"


def lines(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class PeerCases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Google Benchmark appends the way of measuring to names.
        cls.ours = [re.sub(r"/iterations:.*|/manual_time.*", "", line)
                    for line in lines(BENCHMARK, "--benchmark_list_tests")]
        listed = lines("python3", PEERS, "--list")
        cls.theirs = listed[listed.index("") + 1:]

    def test_recto_has_each_case_of_the_peers(self):
        self.assertGreater(len(self.theirs), 40)
        self.assertEqual(sorted(set(self.theirs) - set(self.ours)), [])

    def test_what_is_aimed_at_is_asked(self):
        for group in (4, 8):
            of_group = [name for name in self.theirs
                        if f"/group:{group}/" in name and name.endswith("/block:16")]
            contexts = [int(re.search(r"/context:(\d+)/", name).group(1)) for name in of_group
                        if name.startswith("decode/")]
            self.assertGreaterEqual(sum(context >= 4096 for context in contexts), 8)
            self.assertGreaterEqual(sum(name.startswith("prefill/") for name in of_group), 5)

    def test_peers_read_each_name_of_recto_but_those_of_recto_alone(self):
        names = [name for name in self.ours if not re.search(OF_RECTO_ALONE, name)]
        self.assertGreater(len(names), len(self.theirs))
        asked = [f"--case={name}" for name in names]
        listed = lines("python3", PEERS, "--list", *asked)
        self.assertEqual(listed[listed.index("") + 1:], names)


if __name__ == "__main__":
    unittest.main()
