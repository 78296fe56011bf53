"""The definition of a golden case: shapes, options, places of its tokens in memory, and the values
of its elements."""

from dataclasses import dataclass, field
from random import Random
from typing import Callable

from exact_attention import Options
from number_codes import fp32


@dataclass(frozen=True)
class Shape:
    num_q_heads: int = 1
    num_kv_heads: int = 1
    head_dim_k: int = 8
    head_dim_v: int = 8
    q_type: str = "fp32"
    kv_type: str = "fp32"


@dataclass(frozen=True)
class Pool:
    """The layout of the cache in memory."""

    layout: str = "token-major"
    block_size: int = 4
    spare_blocks: int = 1  # blocks without a holder
    # Physical blocks of each sequence; by default shuffled, none shared.
    block_ids: tuple[tuple[int, ...], ...] | None = None
    # Axes of a single buffer that K and V share, including "tensor" and perhaps "layer" (the case
    # is about the second layer); by default each has its own buffer in the documented shape.
    shared_nesting: str = ""
    num_layers: int = 3
    padding: dict[str, int] = field(default_factory=dict)  # elements after each step of an axis
    garbage_columns: tuple[int, ...] = (-1,)  # ids in the block table beyond a sequence's blocks
    table_padding: int = 0  # elements between the table's rows
    k_scales: tuple[float, ...] = ()  # fp8: none, one, or one per KV head
    v_scales: tuple[float, ...] = ()


@dataclass(frozen=True)
class Rows:
    """The layout of queries (and new K and V) in memory."""

    nesting: str = "row head dim"
    padding: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class At:
    """An element to be filled, of a token (or query row) of a sequence."""

    sequence: int
    token: int
    head: int
    dim: int
    random: Random


Fill = Callable[[At], float]


def uniform(at: At) -> float:
    return at.random.random() * 4 - 2


def scaled_uniform(factor: float) -> Fill:
    return lambda at: uniform(at) * factor


def constant(value: float) -> Fill:
    return lambda at: value


def per_token(*values: float) -> Fill:
    """The same value in all dims; the list repeats from its start."""
    return lambda at: values[at.token % len(values)]


def first_dim(fill: Fill) -> Fill:
    """Zero except in the first dim, so that the product of q and k has one term."""
    return lambda at: fill(at) if at.dim == 0 else 0.0


@dataclass(frozen=True)
class Case:
    name: str
    why: str
    # (query rows, context_length) of each sequence; for a decode step (1, cached_length).
    lengths: tuple[tuple[int, int], ...]
    shape: Shape = Shape()
    options: Options = Options()
    pool: Pool = Pool()
    rows: Rows = Rows()
    q: Fill = uniform  # values before rounding to their types
    k: Fill = uniform
    v: Fill = uniform
    shared_tokens: int = 0  # at the beginning of every sequence, the first one's
    is_decode_step: bool = False

    def __post_init__(self) -> None:
        options, pool = self.options, self.pool
        numbers = (options.scale, options.softcap, *options.alibi_slopes, *options.sinks,
                   *pool.k_scales, *pool.v_scales)
        assert all(number == fp32(number) for number in numbers), self.name
