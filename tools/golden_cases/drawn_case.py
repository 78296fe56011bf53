"""A case's elements as codes of their types, in logical order, and the result of attention on
them."""

from dataclasses import dataclass
from decimal import localcontext
from fractions import Fraction
from random import Random

from case import At, Case, Fill
from exact_attention import DIGITS, HeadCache, Row, attend, printed, working_context
from number_codes import decode, encode
from pool_layout import Token  # a query row is one, too

Tokens = list[list[Token]]  # [sequence][token]


@dataclass(frozen=True)
class DrawnCase:
    q: Tokens
    k: Tokens
    v: Tokens
    new_k: Tokens  # one per sequence in a decode step, else none
    new_v: Tokens


def draw(case: Case) -> DrawnCase:
    shape = case.shape
    rows = [count for count, _ in case.lengths]
    cached = [count for _, count in case.lengths]
    newest = [1 if case.is_decode_step else 0 for _ in case.lengths]

    def tokens(name: str, fill: Fill, counts: list[int], of: tuple[int, int, str]) -> Tokens:
        heads, dims, element_type = of
        # Python guarantees the same random() for the same seed in all versions.
        random = Random(f"{case.name} {name}")

        def token(sequence: int, index: int) -> Token:
            return [[encode(fill(At(sequence, index, head, dim, random)), element_type)
                     for dim in range(dims)] for head in range(heads)]

        return [[token(s, t) for t in range(count)] for s, count in enumerate(counts)]

    of_k = (shape.num_kv_heads, shape.head_dim_k)
    of_v = (shape.num_kv_heads, shape.head_dim_v)
    k = tokens("k", case.k, cached, (*of_k, shape.kv_type))
    v = tokens("v", case.v, cached, (*of_v, shape.kv_type))
    for sequence in range(1, len(cached)):
        k[sequence][: case.shared_tokens] = k[0][: case.shared_tokens]
        v[sequence][: case.shared_tokens] = v[0][: case.shared_tokens]
    return DrawnCase(
        q=tokens("q", case.q, rows, (shape.num_q_heads, shape.head_dim_k, shape.q_type)),
        k=k,
        v=v,
        new_k=tokens("new_k", case.k, newest, (*of_k, shape.q_type)),
        new_v=tokens("new_v", case.v, newest, (*of_v, shape.q_type)),
    )


def expected(case: Case, drawn: DrawnCase, digits: int = DIGITS) -> dict:
    """out [row][head][dim] and lse_ln [row][head], as decimal numbers."""
    with localcontext(working_context(digits)):
        rows = [row for sequence in range(len(drawn.q)) for row in _rows(case, drawn, sequence)]
    return {"out": [[out for out, _ in row] for row in rows],
            "lse_ln": [[lse_ln for _, lse_ln in row] for row in rows]}


def _rows(case: Case, drawn: DrawnCase, sequence: int) -> list[list[tuple[list[str], str]]]:
    shape = case.shape
    caches = [_head_cache(case, drawn, sequence, head) for head in range(shape.num_kv_heads)]
    # Query heads of a group are adjacent.
    group = shape.num_q_heads // shape.num_kv_heads
    cache_of_head = [cache for cache in caches for _ in range(group)]
    context_length = len(caches[0].keys)
    rows = []
    for position, row in enumerate(drawn.q[sequence], context_length - len(drawn.q[sequence])):
        results = [
            attend(_values(codes, shape.q_type), cache_of_head[head], position, case.options, head)
            for head, codes in enumerate(row)
        ]
        rows.append([([printed(value) for value in result.out], printed(result.lse_ln))
                     for result in results])
    return rows


def _head_cache(case: Case, drawn: DrawnCase, sequence: int, head: int) -> HeadCache:
    def rows(cached: Tokens, newest: Tokens, scales: tuple[float, ...]) -> list[Row]:
        # A single scale applies to all heads.
        scale = Fraction((scales * case.shape.num_kv_heads)[head]) if scales else Fraction(1)
        read = [[scale * value for value in _values(token[head], case.shape.kv_type)]
                for token in cached[sequence]]
        return read + [_values(token[head], case.shape.q_type) for token in newest[sequence]]

    return HeadCache(rows(drawn.k, drawn.new_k, case.pool.k_scales),
                     rows(drawn.v, drawn.new_v, case.pool.v_scales), case.shape.head_dim_v)


def _values(codes: list[int], element_type: str) -> Row:
    return [Fraction(decode(code, element_type)) for code in codes]
