"""Block ids in random order, the same as in recto's benchmark: the Fisher-Yates shuffle of
cuda/bench/attention_batch.cu over the generator of core/random_stream.h.
"""

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
