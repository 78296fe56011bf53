"""The machine's GPU: why there is none, its description, a timer of calls, and its copy and matrix
rates. Needs PyTorch.
"""

import subprocess
from statistics import median

import torch

from .peers import Call

FLUSHED_BYTES = 256 << 20  # twice the largest L2 of any card, as in cuda/bench
COPIED_BYTES = 1 << 30
MATRIX_SIZE = 8192
RATE_RUNS = 10
TUNING_RUNS = 5
# Cycles for which the card waits while the host launches, about a millisecond, so that Python's
# slow launches are not measured.
HELD_CYCLES = 2_000_000
# Under the names used in recto's results.
_SMI = {"driver": "driver_version", "clock_sm": "clocks.sm", "clock_sm_max": "clocks.max.sm",
        "clock_memory": "clocks.mem", "power_limit": "power.limit",
        "temperature_before": "temperature.gpu"}


def why_no_gpu() -> str:
    """Why there is no GPU; empty if there is one."""
    if torch.version.cuda is None:
        return f"PyTorch {torch.__version__} is built without CUDA"
    try:
        torch.cuda.init()
    except Exception as error:  # the driver's, with its own message
        return str(error).splitlines()[0]
    return ""


class ColdTimer:
    """Seconds of a call between two events, with all of L2 written before."""

    def __init__(self):
        self.flushed = torch.empty(FLUSHED_BYTES, dtype=torch.uint8, device="cuda")
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def seconds_of(self, call: Call) -> float:
        self.flushed.fill_(1)
        torch.cuda._sleep(HELD_CYCLES)
        self.begin.record()
        call()
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end) * 1e-3

    def median_of(self, call: Call) -> float:
        """The time used for tuning. The first run compiles."""
        self.seconds_of(call)
        return median([self.seconds_of(call) for _ in range(TUNING_RUNS)])


def card_rates(timer: ColdTimer) -> dict[str, float]:
    """The best of ten, per second: bytes read and written by a copy, and flops of a bf16
    product."""
    source = torch.zeros(COPIED_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    a, b = (torch.randn(MATRIX_SIZE, MATRIX_SIZE, dtype=torch.bfloat16, device="cuda")
            for _ in range(2))

    def best(call: Call) -> float:
        return min(timer.seconds_of(call) for _ in range(RATE_RUNS + 1))

    return {"copy_GB_per_s": 2 * COPIED_BYTES / best(lambda: target.copy_(source)) * 1e-9,
            "matrix_TFLOP_per_s": 2 * MATRIX_SIZE**3 / best(lambda: a @ b) * 1e-12}


def describe_card() -> dict[str, object]:
    properties = torch.cuda.get_device_properties(0)
    card = {"gpu": properties.name, "runtime_cuda": torch.version.cuda,
            "compute_capability": f"{properties.major}.{properties.minor}",
            "multiprocessors": properties.multi_processor_count,
            "memory_bytes": properties.total_memory}
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--query-gpu={','.join(_SMI.values())}", "--format=csv,noheader",
             f"--id=GPU-{properties.uuid}"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        return card | {"driver": f"unknown: {error}"}
    values = [value.strip() for value in done.stdout.strip().split(",")]
    if done.returncode != 0 or len(values) != len(_SMI):
        return card | {"driver": f"unknown: {(done.stderr or done.stdout).strip()}"}
    return card | dict(zip(_SMI, values))
