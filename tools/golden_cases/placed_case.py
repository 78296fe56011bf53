"""A drawn case in memory: rows, block table and pools as bytes, with the strides to find them."""

from random import Random
from typing import Any

from case import Case, Rows
from drawn_case import DrawnCase, Tokens
from number_codes import garbage, hex_lines, lanes
from pool_layout import (
    NESTINGS,
    Axis,
    Coordinates,
    Storage,
    Token,
    lay_out,
    lay_out_pool,
    pack_strides_of,
    strides_of,
)

OUR_LAYER = 1  # of a buffer of several

BlockIds = list[list[int]]  # physical blocks of each sequence, in logical order
Slots = dict[tuple[int, int], Token]  # by block and slot; others hold garbage


def place(case: Case, drawn: DrawnCase) -> dict[str, Any]:
    shape = case.shape
    block_ids = _block_ids(case)
    placed = {"block_table": _block_table(case, block_ids),
              "q": _place_rows(case.rows, drawn.q, shape.q_type)}
    if case.is_decode_step:
        placed["new_k"] = _place_rows(case.rows, drawn.new_k, shape.q_type)
        placed["new_v"] = _place_rows(case.rows, drawn.new_v, shape.q_type)
    return placed | _place_pools(case, drawn, block_ids)


def _block_ids(case: Case) -> BlockIds:
    if case.pool.block_ids is not None:
        return [list(ids) for ids in case.pool.block_ids]
    needed = [len(range(0, length, case.pool.block_size)) for _, length in case.lengths]
    ids = list(range(sum(needed) + case.pool.spare_blocks))
    random = Random(f"{case.name} blocks")
    ids.sort(key=lambda _: random.random())
    return [[ids.pop() for _ in range(count)] for count in needed]


def _block_table(case: Case, block_ids: BlockIds) -> dict[str, Any]:
    columns = max(len(ids) for ids in block_ids) + len(case.pool.garbage_columns)
    row_stride = columns + case.pool.table_padding
    beyond = [*case.pool.garbage_columns] * row_stride
    rows = [(ids + beyond)[:row_stride] for ids in block_ids]
    return {"max_blocks": columns, "row_stride": row_stride, "rows": rows}


def _place_rows(plan: Rows, tokens: Tokens, element_type: str) -> dict[str, Any]:
    rows = [row for sequence in tokens for row in sequence]
    sizes = {"row": len(rows), "head": len(rows[0]), "dim": len(rows[0][0])}
    storage = lay_out(
        [Axis(name, sizes[name], plan.padding.get(name, 0)) for name in plan.nesting.split()],
        lambda at: rows[at["row"]][at["head"]][at["dim"]],
        garbage(element_type),
    )
    return {
        "type": element_type,
        "num_rows": sizes["row"],
        "num_heads": sizes["head"],
        "head_dim": sizes["dim"],
        "row_stride": storage.strides["row"],
        "head_stride": storage.strides["head"],
        "bytes": hex_lines(storage.codes, element_type),
    }


def _place_pools(case: Case, drawn: DrawnCase, block_ids: BlockIds) -> dict[str, Any]:
    shape, pool = case.shape, case.pool
    k = _slots(drawn.k, block_ids, pool.block_size)
    v = _slots(drawn.v, block_ids, pool.block_size)
    if pool.shared_nesting:
        both = _lay_out_pool(case, [k, v], pool.shared_nesting, shape.head_dim_k)
        storages, own = [both], (both, both)
    else:
        nesting_k, nesting_v = NESTINGS[pool.layout]
        own = (_lay_out_pool(case, [k], nesting_k, shape.head_dim_k),
               _lay_out_pool(case, [v], nesting_v, shape.head_dim_v))
        storages = list(own)
    views = {
        name: {"buffer": storages.index(storage), **_view(case, storage, side)}
        for side, (name, storage) in enumerate(zip("kv", own))
    }
    return views | {"buffers": [hex_lines(storage.codes, shape.kv_type) for storage in storages]}


def _slots(tokens: Tokens, block_ids: BlockIds, block_size: int) -> Slots:
    slots: Slots = {}
    for sequence, ids in zip(tokens, block_ids, strict=True):
        places = [(block, slot) for block in ids for slot in range(block_size)]
        assert len(sequence) <= len(places)
        for where, token in zip(places, sequence):
            # Sequences that share a block agree on its contents.
            assert slots.setdefault(where, token) == token
    return slots


def _lay_out_pool(case: Case, tensors: list[Slots], nesting: str, dims: int) -> Storage:
    shape, pool = case.shape, case.pool
    sizes = {"tensor": len(tensors), "layer": pool.num_layers, "block": _num_blocks(case),
             "slot": pool.block_size, "head": shape.num_kv_heads, "dim": dims,
             "lane": lanes(shape.kv_type)}

    def token_at(at: Coordinates) -> Token | None:
        if at.get("layer", OUR_LAYER) != OUR_LAYER:
            return None
        return tensors[at.get("tensor", 0)].get((at["block"], at["slot"]))

    return lay_out_pool(nesting, sizes, pool.padding, token_at, garbage(shape.kv_type))


def _num_blocks(case: Case) -> int:
    held = {block for ids in _block_ids(case) for block in ids}
    num_blocks = len(held) + case.pool.spare_blocks
    assert all(block < num_blocks for block in held)
    return num_blocks


def _view(case: Case, storage: Storage, side: int) -> dict[str, Any]:
    shape, pool = case.shape, case.pool
    strides = storage.strides
    fields = {
        "first_element": storage.first[
            side if "tensor" in strides else 0, OUR_LAYER if "layer" in strides else 0
        ],
        "type": shape.kv_type,
        "layout": pool.layout,
        "num_blocks": _num_blocks(case),
        "block_size": pool.block_size,
        "num_kv_heads": shape.num_kv_heads,
        "head_dim": (shape.head_dim_k, shape.head_dim_v)[side],
        **strides_of(storage),
        "scales": list((pool.k_scales, pool.v_scales)[side]),
    }
    if pool.layout == "packed":
        fields |= pack_strides_of(storage, side, lanes(shape.kv_type))
    return fields
