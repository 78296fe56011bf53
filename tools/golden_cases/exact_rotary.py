"""Rotary embedding to sixty decimal digits: pair p of a row at position t turns by the angle
t * base^(-2 p / rotary_dim). Sine and cosine are summed from their series; pi comes from Machin's
formula."""

from decimal import Decimal, localcontext

from exact_attention import DIGITS, Row, to_decimal, working_context


def pairs(pairing: str, rotary_dim: int) -> list[tuple[int, int]]:
    """Dims that turn together, in the order of their angles."""
    dims = list(range(rotary_dim))
    if pairing == "interleaved":
        return list(zip(dims[0::2], dims[1::2]))
    return list(zip(dims[: rotary_dim // 2], dims[rotary_dim // 2 :]))


def rotate(row: Row, position: int, pairing: str, rotary_dim: int, base: int) -> list[Decimal]:
    with localcontext(working_context()):
        rotated = [to_decimal(value) for value in row]
        for number, (first, second) in enumerate(pairs(pairing, rotary_dim)):
            x, y = rotated[first], rotated[second]
            cosine, sine = cos_and_sin(angle(position, number, rotary_dim, base))
            rotated[first] = x * cosine - y * sine
            rotated[second] = x * sine + y * cosine
        return rotated


def angle(position: int, pair: int, rotary_dim: int, base: int) -> Decimal:
    exponent = Decimal(-2 * pair) / Decimal(rotary_dim)
    return position * (Decimal(base).ln() * exponent).exp()


def cos_and_sin(x: Decimal) -> tuple[Decimal, Decimal]:
    with localcontext() as context:
        # Whole turns cost as many digits as they have.
        context.prec += max(0, x.adjusted()) + 5
        turn = 2 * pi()
        x -= (x / turn).to_integral_value() * turn
        # The even terms are the cosine's, the odd ones the sine's.
        sums = [Decimal(0), Decimal(0)]
        term = Decimal(1)
        number = 0
        while term and term.adjusted() > -context.prec:
            sums[number % 2] += term if number % 4 < 2 else -term
            number += 1
            term = term * x / number
        cosine, sine = sums
    return +cosine, +sine


def pi() -> Decimal:
    """16 arctan(1/5) - 4 arctan(1/239), to the digits of the context."""
    with localcontext() as context:
        context.prec += 5
        found = 16 * _arctan_of_inverse(5) - 4 * _arctan_of_inverse(239)
    return +found


def _arctan_of_inverse(n: int) -> Decimal:
    power = Decimal(1) / n
    total = Decimal(0)
    number = 0
    while total + power / (2 * number + 1) != total:
        total += (-1) ** number * power / (2 * number + 1)
        power /= n * n
        number += 1
    return total


assert DIGITS == 60  # said above
