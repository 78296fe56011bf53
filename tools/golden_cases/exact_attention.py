"""Attention to sixty decimal digits, straight from its definition.

For query row r of m in a context of n keys, at position i = n - m + r:

    s_j = softcap(scale * q.k_j) + alibi_slope * (j - i), for visible j
    visible: j <= i if causal, and i - window < j if there is a window
    out = sum_j exp(s_j) v_j / D       lse_ln = ln D       D = sum_j exp(s_j) + exp(sink)

Scores are exact fractions up to the softcap. What follows is decimal arithmetic, whose exponents
are so large that exp(1e4) is an ordinary number: no maximum is subtracted, no sum is rescaled.
"""

from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

DIGITS = 60  # used in computations
PRINTED_DIGITS = 30  # of a result

Row = list[Fraction]


@dataclass(frozen=True)
class Options:
    """The options of all heads. All numbers are exact in fp32."""

    scale: float = 0.5
    softcap: float = 0.0  # 0: none
    causal: bool = True
    window: int | None = None
    alibi_slopes: tuple[float, ...] = ()  # one per query head, or none
    sinks: tuple[float, ...] = ()  # the same


@dataclass(frozen=True)
class HeadCache:
    """K and V of one KV head for one sequence."""

    keys: list[Row]
    values: list[Row]
    head_dim_v: int


@dataclass(frozen=True)
class Result:
    out: list[Decimal]
    lse_ln: Decimal


def working_context(digits: int = DIGITS) -> Context:
    # The same range of exponents on every machine.
    return Context(prec=digits, Emin=-(10**8), Emax=10**8)


def visible_keys(position: int, context_length: int, options: Options) -> list[int]:
    def is_visible(key: int) -> bool:
        is_past = not options.causal or key <= position
        is_near = options.window is None or position - options.window < key
        return is_past and is_near

    return [key for key in range(context_length) if is_visible(key)]


def attend(query: Row, cache: HeadCache, position: int, options: Options, head: int) -> Result:
    """One row of one query head against the cache of its KV head."""
    denominator = Decimal(0)
    numerator = [Decimal(0)] * cache.head_dim_v
    for j in visible_keys(position, len(cache.keys), options):
        weight = _score(query, cache.keys[j], j - position, options, head).exp()
        denominator += weight
        for dim, value in enumerate(cache.values[j]):
            numerator[dim] += weight * to_decimal(value)
    if options.sinks:
        denominator += Decimal(options.sinks[head]).exp()
    if not denominator:
        return Result(numerator, Decimal("-Infinity"))
    return Result([total / denominator for total in numerator], denominator.ln())


def _score(query: Row, key: Row, distance: int, options: Options, head: int) -> Decimal:
    product = sum((q * k for q, k in zip(query, key, strict=True)), Fraction(0))
    score = to_decimal(Fraction(options.scale) * product)
    if options.softcap > 0:
        cap = Decimal(options.softcap)
        score = cap * tanh(score / cap)
    if options.alibi_slopes:
        score += Decimal(options.alibi_slopes[head]) * distance
    return score


def to_decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def printed(value: Decimal) -> str:
    if not value:
        return "0"
    with localcontext() as context:
        context.prec = PRINTED_DIGITS
        return str(value.normalize())


def tanh(x: Decimal) -> Decimal:
    with localcontext() as context:
        # 1 - exp(-2 |x|) loses as many digits as |x| has zeros in front.
        context.prec += max(0, -x.adjusted()) + 2
        decay = (-2 * abs(x)).exp()
        result = ((1 - decay) / (1 + decay)).copy_sign(x)
    return +result
