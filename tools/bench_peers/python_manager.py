"""A block manager like those of serving engines written in Python: a deque of free ids, a
dictionary from hashes to blocks, a list of blocks for each sequence.

It allocates free blocks first, then evicts the least recently used ones, ends of sequences before
their starts, like the manager that it is compared with. It trusts hashes and keeps no accounts.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass, field


@dataclass
class Sequence:
    table: list[int] = field(default_factory=list)
    hashes: list[int] = field(default_factory=list)  # of its full blocks, as far as they are known
    committed: int = 0  # leading blocks that are in the cache
    length: int = 0


class PythonManager:
    def __init__(self, num_blocks: int, block_size: int):
        self.block_size = block_size
        self.free = deque(range(num_blocks))
        self.evictable: OrderedDict[int, None] = OrderedDict()  # least recently used first
        self.holders = [0] * num_blocks
        self.hash_of: list[int | None] = [None] * num_blocks
        self.cached: dict[int, int] = {}
        self.sequences: dict[int, Sequence] = {}
        self.next_sequence = 0

    @property
    def available(self) -> int:
        return len(self.free) + len(self.evictable)

    def allocate(self) -> int | None:
        """A block with one holder, or None if all are held."""
        if self.free:
            block = self.free.popleft()
        elif self.evictable:
            block, _ = self.evictable.popitem(last=False)
            self._forget(block)
        else:
            return None
        self.holders[block] = 1
        return block

    def give_back(self, block: int) -> None:
        self.holders[block] -= 1
        if self.holders[block] > 0:
            return
        if self.hash_of[block] is None:
            self.free.appendleft(block)
        else:
            self.evictable[block] = None

    def _hold(self, block: int) -> None:
        if self.holders[block] == 0:
            del self.evictable[block]
        self.holders[block] += 1

    def _forget(self, block: int) -> None:
        if self.hash_of[block] is not None:
            del self.cached[self.hash_of[block]]
            self.hash_of[block] = None

    def _hash_blocks(self, sequence: Sequence, ids: list[int], blocks: int) -> None:
        for block in range(len(sequence.hashes), blocks):
            parent = sequence.hashes[-1] if sequence.hashes else 0
            begin = block * self.block_size
            tokens = tuple(ids[begin:begin + self.block_size])
            sequence.hashes.append(hash((parent, tokens)))

    def admit(self, ids: list[int]) -> int | None:
        """Starts a new sequence with the longest cached prefix, and blocks for the rest."""
        sequence = Sequence()
        self._hash_blocks(sequence, ids, (len(ids) - 1) // self.block_size)
        for known in sequence.hashes:
            block = self.cached.get(known)
            if block is None:
                break
            sequence.table.append(block)
        fresh = -(-len(ids) // self.block_size) - len(sequence.table)
        revived = sum(self.holders[block] == 0 for block in sequence.table)
        if fresh + revived > self.available:
            return None
        for block in sequence.table:
            self._hold(block)
        sequence.committed = len(sequence.table)
        sequence.length = sequence.committed * self.block_size
        sequence.table.extend(self.allocate() for _ in range(fresh))
        return self._add(sequence)

    def _add(self, sequence: Sequence) -> int:
        self.sequences[self.next_sequence] = sequence
        self.next_sequence += 1
        return self.next_sequence - 1

    def append(self, sequences: list[int], count: int = 1) -> list[tuple[int, int]]:
        """Extends each sequence by as many tokens; returns what must be copied, as (source,
        destination)."""
        copies: list[tuple[int, int]] = []
        for number in sequences:
            sequence = self.sequences[number]
            for _ in range(count):
                self._append_one(sequence, copies)
        return copies

    def _append_one(self, sequence: Sequence, copies: list[tuple[int, int]]) -> None:
        at = sequence.length // self.block_size
        if at == len(sequence.table):
            sequence.table.append(self._take())
        else:
            block = sequence.table[at]
            if self.holders[block] > 1:
                sequence.table[at] = self._take()
                copies.append((block, sequence.table[at]))
                self.give_back(block)
            else:
                self._forget(block)
        sequence.length += 1

    def _take(self) -> int:
        block = self.allocate()
        if block is None:
            raise MemoryError("all blocks are held")
        return block

    def commit(self, number: int, ids: list[int]) -> None:
        """Adds the sequence's full blocks to the prefix cache."""
        sequence = self.sequences[number]
        full = sequence.length // self.block_size
        self._hash_blocks(sequence, ids, full)
        for at in range(sequence.committed, full):
            block, known = sequence.table[at], sequence.hashes[at]
            if known not in self.cached:
                self.cached[known] = block
                self.hash_of[block] = known
        sequence.committed = max(sequence.committed, full)

    def fork(self, parent: int) -> int:
        old = self.sequences[parent]
        for block in old.table:
            self._hold(block)
        return self._add(Sequence(list(old.table), list(old.hashes), old.committed, old.length))

    def truncate(self, number: int, length: int) -> None:
        sequence = self.sequences[number]
        blocks = -(-length // self.block_size)
        while len(sequence.table) > blocks:
            self.give_back(sequence.table.pop())
        sequence.committed = min(sequence.committed, length // self.block_size)
        del sequence.hashes[sequence.committed:]
        sequence.length = length

    def release(self, number: int) -> None:
        self.truncate(number, 0)
        del self.sequences[number]
