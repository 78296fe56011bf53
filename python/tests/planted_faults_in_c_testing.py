"""The planted faults in the example kernel in C, to be found through the C interface, too. Left out
are those of fp8 and of splits, which that kernel does not have."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).absolute().parents[2]
KERNEL = ROOT / "experiments" / "examples" / "paged_kernel.c"

_LOOP = "  for (int64_t key = begin; key < end; ++key) add_key(call, at, key, &state);\n"
_END = "call->causal ? at->position + 1 : context;"
_LOG = "state.maximum + logf(state.sum);"
_ROW = "at->row - (call->query_start != NULL ? call->query_start[at->sequence] : at->sequence)"
_MASKED = """  for (int64_t key = 0; key < context; ++key) {
    is_masked = key < begin || key >= end;
    if (!is_masked || call->softcap > 0) add_key(call, at, key, &state);
  }
"""
_DIM = "return dim / cache->pack_width * cache->pack_stride + dim % cache->pack_width;"
_TAIL = """  for (int64_t key = context; key % call->k.block_size != 0; ++key) {
    add_key(call, at, key, &state);
  }
"""

# Fault -> (text of the kernel, text in its place), ...
REPLACED = {
    "": (),
    "window off by one": (("begin = at->position - call->window + 1;",
                           "begin = at->position - call->window + 2;"),),
    "top-left causal mask": ((_END, f"call->causal && {_ROW} < context ? {_ROW} + 1 : context;"),),
    "soft cap after the mask": (
        (_LOOP, _MASKED),
        ("static float score_of", "static int is_masked;\n\nstatic float score_of"),
        ("score *= call->scale;", "score = is_masked ? -INFINITY : score * call->scale;")),
    "missing rescale": (("const float factor = expf(state->maximum - maximum);",
                         "const float factor = 1;"),),
    "wrong group mapping": ((".kv_head = head / group}",
                             ".kv_head = head % call->k.num_kv_heads}"),),
    "sink left out of the denominator's log": (
        (_LOG, "state.maximum + logf(call->sinks == NULL ? state.sum : "
               "state.sum - expf(call->sinks[at->head] - state.maximum));"),),
    "last key dropped": ((_LOOP, _LOOP.replace("key < end", "key < end && key < context - 1")),),
    "tail of the last block read": ((_LOOP, _LOOP + _TAIL),),
    "log in base 2": ((_LOG, f"({_LOG[:-1]}) / logf(2.0F);"),),
    "scale applied twice": (("score *= call->scale;", "score *= call->scale * call->scale;"),),
    "sign of the bias": (("(float)(key - at->position)", "(float)(at->position - key)"),),
    "blocks taken for consecutive": (
        ("blocks[token / cache->block_size] * cache->block_stride",
         "(blocks[0] + token / cache->block_size) % cache->num_blocks * cache->block_stride"),),
    "block table without stride": (("call->block_table_row_stride", "call->max_blocks"),),
    "V by the strides of K": (
        ("v = token_offset(call, &call->v", "v = token_offset(call, &call->k"),),
    "pack width of fp16": (
        (_DIM, _DIM.replace("cache->pack_width", "(cache->pack_width > 1 ? 8 : 1)")),),
    "slot by a mask": (("token % cache->block_size * cache->slot_stride",
                        "(token & (cache->block_size - 1)) * cache->slot_stride"),),
}


def library(fault: str, folder: Path) -> Path:
    """A shared library with this fault, and without kv_write, as the functions in Python are."""
    text = KERNEL.read_text()
    for old, new in (*REPLACED[fault], (".kv_write = kv_write}", "}")):
        if text.count(old) != 1:
            raise ValueError(f"{fault}: expected once in {KERNEL.name}: {old}")
        text = text.replace(old, new)
    source = folder / "kernel.c"
    source.write_text(text)
    made = folder / f"lib{list(REPLACED).index(fault)}.so"
    subprocess.run(["cc", "-std=c11", "-O2", "-w", "-shared", "-fPIC", "-I", ROOT, "-o", made,
                    source, "-lm"], check=True)
    return made
