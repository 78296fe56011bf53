"""Finds a kernel's hot path without hints: one trip of the loop that computes the matrix products.

The hot loop is the innermost loop with the most products. The hot path is the way around it with
all the products, copies and loads that a trip can have, and the fewest other instructions: an
interior tile, in which no key is masked, no maximum grows and no option acts. A loop within it,
such as a wait for a barrier, is taken to run once.
"""

import re
from dataclasses import dataclass

from machine_code import Instruction

_PRODUCT_SHAPE = re.compile(r"HGMMA\.(\d+)x(\d+)x(\d+)|HMMA\.(16)(8)(8|16)\b")
_WARPS_OF_GROUP = 4
_LANES = 32


@dataclass(frozen=True)
class HotPath:
    """One trip of a warp."""

    instructions: list[Instruction]
    products: str  # the instruction that computes them: HGMMA, HMMA or FFMA
    is_whole: bool  # no loop within it that computes or copies

    @property
    def flops(self):
        return sum(flops_of(each) for each in self.instructions if each.base == self.products)

    @property
    def copied_bytes(self):
        return sum(map(copied_bytes_of, self.instructions))


def flops_of(instruction):
    """FLOP of a warp, which has a quarter of a warpgroup's product."""
    if match := _PRODUCT_SHAPE.search(instruction.opcode):
        rows, columns, depth = (int(size) for size in match.groups() if size)
        whole = 2 * rows * columns * depth
        return whole // _WARPS_OF_GROUP if instruction.base == "HGMMA" else whole
    if instruction.base == "FFMA":
        return 2 * _LANES
    return 0


def copied_bytes_of(instruction):
    """Bytes that a warp's asynchronous copy moves to shared memory; 0 for bulk copies, whose size
    is in a register."""
    if instruction.base != "LDGSTS" or instruction.never_runs:
        return 0
    match = re.search(r"\.(64|128)\b", instruction.opcode.replace("LTC128B", ""))
    return _LANES * (int(match[1]) // 8 if match else 4)


def _weight(instructions, products):
    """What a path has, in order of importance."""
    return (
        sum(flops_of(each) for each in instructions if each.base == products),
        sum(each.base in ("LDGSTS", "UBLKCP", "UTMALDG") for each in instructions),
        sum(each.base == "LDG" for each in instructions),
        -len(instructions),
    )


class _Blocks:
    """Basic blocks and their edges; block 0 is the kernel's entry."""

    def __init__(self, kernel):
        code = kernel.instructions
        starts = {0, *kernel.labels.values()}
        starts |= {i + 1 for i, each in enumerate(code) if each.is_jump or each.ends}
        self.starts = sorted(start for start in starts if start < len(code))
        index_of = {start: block for block, start in enumerate(self.starts)}
        ends = self.starts[1:] + [len(code)]
        self.code = [code[begin:end] for begin, end in zip(self.starts, ends, strict=True)]
        self.after = []
        for block, instructions in enumerate(self.code):
            last = instructions[-1]
            after = []
            if not last.ends and (not last.is_jump or last.is_conditional):
                after += [block + 1] if block + 1 < len(self.code) else []
            if last.target:
                after.append(index_of[kernel.labels[last.target]])
            self.after.append(after)
        self.before = [[] for _ in self.code]
        for block, after in enumerate(self.after):
            for each in after:
                self.before[each].append(block)
        self.order = self._reverse_postorder()
        self.dominators = self._dominators()

    def _reverse_postorder(self):
        seen, order, stack = {0}, [], [(0, iter(self.after[0]))]
        while stack:
            block, rest = stack[-1]
            following = next((each for each in rest if each not in seen), None)
            if following is None:
                order.append(block)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(self.after[following])))
        return order[::-1]

    def _dominators(self):
        """{block: the blocks on every path to it, as bits}"""
        everything = (1 << len(self.code)) - 1
        found = dict.fromkeys(self.order, everything)
        found[0] = 1
        changed = True
        while changed:
            changed = False
            for block in self.order[1:]:
                common = everything
                for each in self.before[block]:
                    common &= found.get(each, everything)
                if (new := common | 1 << block) != found[block]:
                    found[block], changed = new, True
        return found

    def dominates(self, block, other):
        return bool(self.dominators[other] >> block & 1)

    def loops(self):
        """{head: blocks of its loop}"""
        found = {}
        for block in self.order:
            for head in self.after[block]:
                if self.dominates(head, block):
                    body, waiting = found.setdefault(head, {head}), [block]
                    while waiting:
                        each = waiting.pop()
                        if each not in body:
                            body.add(each)
                            waiting += [b for b in self.before[each] if b in self.dominators]
        return found

    def best_path(self, head, body, products):
        """(weight, blocks) of the best way through the loop once."""
        best = {head: (_weight(self.code[head], products), None)}
        for block in self.order:
            if block not in body or block == head:
                continue
            ways = [(best[each][0], each) for each in self.before[block]
                    if each in best and not self.dominates(block, each)]
            if ways:
                weight, way = max(ways)
                own = _weight(self.code[block], products)
                best[block] = (tuple(map(sum, zip(weight, own, strict=True))), way)
        weight, block = max((best[each][0], each) for each in self.before[head]
                            if each in best and self.dominates(head, each))
        path = []
        while block is not None:
            path.append(block)
            block = best[block][1]
        return weight, path[::-1]


def find_hot_path(kernel):
    """The hot path, or None if no loop has products."""
    blocks = _Blocks(kernel)
    bases = {each.base for each in kernel.instructions}
    products = next((each for each in ("HGMMA", "HMMA") if each in bases), "FFMA")
    loops = blocks.loops()
    have_products = {
        head: body for head, body in loops.items()
        if any(each.base == products for block in body for each in blocks.code[block])
    }
    innermost = {
        head: body for head, body in have_products.items()
        if not any(other < body for other in have_products.values())
    }
    if not innermost:
        return None
    _, path, body = max((*blocks.best_path(head, body, products), body)
                        for head, body in innermost.items())
    inner = {head for head in loops if head in path[1:] and loops[head] < body}
    is_whole = not any(
        each.base in ("LDS", "STS", "LDGSTS", "FFMA", "F2FP")
        for head in inner for block in loops[head] if block in path for each in blocks.code[block]
    )
    return HotPath([each for block in path for each in blocks.code[block]], products, is_whole)
