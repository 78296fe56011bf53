"""The case that every peer computes: one batch, named as in recto's benchmark (cuda/bench).

    decode/batch:64/context:4096/group:4/head_dim:128/types:bf16-bf16/block:16
    prefill/batch:4/context:4096/rows:1024/group:4/head_dim:128/types:bf16-bf16/block:16

`decode_skewed` has contexts of several lengths, `prefill_few_rows` less than 64 rows. `kv_heads` is
added at the end if it is not 8. Block ids are those of that benchmark, too. Needs only the
standard library.
"""

from dataclasses import dataclass, replace

FAMILIES = ("decode", "decode_skewed", "prefill", "prefill_few_rows")
TYPE_BYTES = {"bf16": 2, "fp16": 2}
# The number of lengths in turn: all, a half, a quarter, ... of the context.
SKEWED_LENGTHS = 8
_LARGEST = {"batch": 1 << 16, "context": 1 << 24, "rows": 1 << 16, "group": 256, "head_dim": 1024,
            "block": 1 << 16, "kv_heads": 256}
_MOST_TOKENS = 1 << 26  # per batch, twice the most in recto's grid: Python makes the tables


class BadCase(Exception):
    """An invalid name of a case: the wrong part, and what was expected."""


@dataclass(frozen=True)
class Case:
    family: str = "decode"
    type: str = "bf16"
    batch: int = 64
    context: int = 4096  # tokens of the longest sequence, including its query rows
    rows: int = 1  # query rows of each sequence, its last tokens
    group: int = 4  # query heads per KV head
    head_dim: int = 128
    block: int = 16  # tokens
    kv_heads: int = 8

    @property
    def operation(self) -> str:
        return self.family.partition("_")[0]

    @property
    def is_skewed(self) -> bool:
        return self.family == "decode_skewed"

    @property
    def name(self) -> str:
        parts = [self.family, f"batch:{self.batch}", f"context:{self.context}"]
        parts += [f"rows:{self.rows}"] * (self.operation == "prefill")
        parts += [f"group:{self.group}", f"head_dim:{self.head_dim}",
                  f"types:{self.type}-{self.type}", f"block:{self.block}"]
        parts += [f"kv_heads:{self.kv_heads}"] * (self.kv_heads != Case.kv_heads)
        return "/".join(parts)

    @property
    def q_heads(self) -> int:
        return self.kv_heads * self.group

    def context_lengths(self) -> list[int]:
        skews = SKEWED_LENGTHS if self.is_skewed else 1
        return [max(1, self.context >> s % skews) for s in range(self.batch)]

    def block_counts(self) -> list[int]:
        return [-(-length // self.block) for length in self.context_lengths()]

    def kv_bytes(self) -> int:
        """The bytes of K and V of all contexts."""
        return (2 * sum(self.context_lengths()) * self.kv_heads * self.head_dim
                * TYPE_BYTES[self.type])

    def must_move_bytes(self) -> int:
        """K, V and q read, out and lse written, table entries and lengths read: as
        cuda/bench/counted_work.h counts.
        """
        rows = self.batch * self.rows * self.q_heads
        return (self.kv_bytes() + rows * (2 * self.head_dim * TYPE_BYTES[self.type] + 4)
                + 4 * (sum(self.block_counts()) + self.batch))

    def flops(self) -> int:
        """Two products for each pair of a query row and a key that it sees, with causal masking."""
        pairs = (self.rows * sum(self.context_lengths())
                 - self.batch * (self.rows * (self.rows - 1) // 2))
        return 4 * pairs * self.q_heads * self.head_dim


def parse_case(name: str) -> Case:
    """The case of a name. Parts may come in any order; missing parts are as in Case."""
    family, *parts = name.split("/")
    if family not in FAMILIES:
        raise BadCase(f"{name}: {family!r}: expected one of {', '.join(FAMILIES)}")
    values: dict[str, int | str] = {}
    for part in parts:
        key, _, text = part.partition(":")
        if key == "types":
            key, value = "type", _type(name, text)
        elif key in _LARGEST:
            value = _size(name, key, text)
        else:
            raise BadCase(f"{name}: {part!r}: expected types or one of {', '.join(_LARGEST)}, "
                          "as KEY:VALUE")
        if key in values:
            raise BadCase(f"{name}: {part!r}: expected each but once")
        values[key] = value
    case = replace(Case(family), **values)
    if case.operation == "decode" and case.rows != 1:
        raise BadCase(f"{name}: rows:{case.rows}: expected 1 in decode")
    if case.rows > case.context:
        raise BadCase(f"{name}: rows:{case.rows}: expected at most the context, {case.context}")
    if case.batch * case.context > _MOST_TOKENS:
        raise BadCase(f"{name}: expected batch x context of at most {_MOST_TOKENS}")
    return case


def _type(name: str, text: str) -> str:
    of_q, _, of_kv = text.partition("-")
    if of_q not in TYPE_BYTES or of_kv != of_q:
        expected = " or ".join(f"{kind}-{kind}" for kind in TYPE_BYTES)
        raise BadCase(f"{name}: types:{text}: expected {expected}, which peers serve")
    return of_q


def _size(name: str, key: str, text: str) -> int:
    largest = _LARGEST[key]
    if not (text.isascii() and text.isdigit() and len(text) < 11 and 0 < int(text) <= largest):
        raise BadCase(f"{name}: {key}:{text}: expected a number from 1 to {largest}")
    return int(text)


def usual_cases() -> list[Case]:
    """The cases of recto's default list: those with aims, decode and prefill of groups 4 and 8, and
    one axis varied at a time around typical serving.
    """
    points = ((1, 1024), (1, 4096), (1, 32768), (1, 131072), (8, 4096), (64, 128), (64, 1024),
              (64, 4096), (64, 16384), (16, 32768), (256, 512), (256, 4096))
    prefills = ((1, 512, 512), (4, 1024, 1024), (4, 4096, 1024), (1, 16384, 2048), (16, 2048, 512))
    cases = [Case(batch=batch, context=context, group=group)
             for group in (4, 8) for batch, context in points]
    cases += [Case("prefill", batch=batch, context=context, rows=rows, group=group)
              for group in (4, 8) for batch, context, rows in prefills]
    cases.append(Case("prefill_few_rows", batch=64, context=1024, rows=8))
    for base in (Case(), Case("prefill", batch=4, rows=1024)):
        cases.append(replace(base, group=1))
        cases += [replace(base, block=block) for block in (1, 2, 4, 8, 32, 64, 128, 256)]
        cases += [replace(base, head_dim=head_dim) for head_dim in (64, 256)]
        cases.append(replace(base, type="fp16"))
    return cases + [Case("decode_skewed", group=group) for group in (1, 4, 8)]


# Cases that a CPU computes in seconds, with each difficulty once: partial blocks, groups that are
# not a power of two, skewed lengths.
SMALL_CASES = tuple(parse_case(name) for name in (
    "decode/batch:3/context:65/group:4/head_dim:64/types:bf16-bf16/block:16/kv_heads:2",
    "decode/batch:2/context:48/group:1/head_dim:32/types:fp16-fp16/block:8/kv_heads:3",
    "decode_skewed/batch:5/context:200/group:3/head_dim:128/types:bf16-bf16/block:32/kv_heads:1",
    "decode/batch:1/context:37/group:8/head_dim:80/types:fp16-fp16/block:1/kv_heads:1",
    "prefill_few_rows/batch:2/context:64/rows:24/group:2/head_dim:64/block:16/kv_heads:2",
    "prefill/batch:3/context:90/rows:70/group:4/head_dim:32/types:fp16-fp16/block:32/kv_heads:1",
))


# Block ids in random order, the same as in recto's benchmark: the Fisher-Yates shuffle of
# cuda/bench/attention_batch.cu over the generator of core/random_stream.h.
_MASK = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15


def mixed(value: int) -> int:
    """The finaliser of SplitMix64."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31


class RandomStream:
    """xoshiro256**."""

    def __init__(self, seed: int):
        self.state = [mixed(seed + i * GOLDEN_GAMMA & _MASK) for i in range(1, 5)]

    def next_u64(self) -> int:
        s0, s1, s2, s3 = self.state
        result = _rotated(s1 * 5 & _MASK, 7) * 9 & _MASK
        s2 ^= s0
        s3 ^= s1
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17 & _MASK), _rotated(s3, 45)]
        return result

    def next_below(self, bound: int) -> int:
        incomplete = (1 << 64) % bound
        draw = self.next_u64()
        while draw < incomplete:
            draw = self.next_u64()
        return draw % bound


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & _MASK


def shuffled_ids(count: int, seed: int) -> list[int]:
    ids = list(range(count))
    random = RandomStream(seed)
    for left in range(count, 1, -1):
        other = random.next_below(left)
        ids[left - 1], ids[other] = ids[other], ids[left - 1]
    return ids
