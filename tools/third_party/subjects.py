"""The kernels that are judged: from which package, by which adapter, on which cases."""

from dataclasses import dataclass

from packages import Package

FLASHINFER = Package(
    "flashinfer-python", "0.5.3",
    "b601293b72f9138bad173edc28df84b9f239a013be974e2e79d4ba98aeb38cf5", is_wheel=True)
FLASH_ATTN = Package(
    "flash-attn", "2.8.3", "1e71dd64a9e0280e0447b8a0c2541bad4bf6ac65bdeaa2f90e51a9e57de0370d")
VLLM = Package(
    "vllm", "0.10.2", "57608f44cf61f5d80fb182c98e06e524cb2925bb528258a7b247c8e43a52d13e")


@dataclass(frozen=True)
class Edit:
    """A change of a subject's source."""

    file: str  # below the first include folder
    before: str  # exactly once in the file
    after: str


@dataclass(frozen=True)
class Subject:
    """A kernel, and the cases that its authors say it supports."""

    name: str
    package: Package
    adapter: str  # in this folder
    include_folders: tuple  # of the package
    filters: tuple  # of recto verify
    macros: tuple = ()
    nvcc_options: tuple = ()  # of the package's own build, as far as they change the results
    edits: tuple = ()  # made in a copy of the first include folder


VLLM_FILTERS = (
    "--layout", "packed", "--head-dim", "32,64,80,96,112,120,128,192,256",
    "--block-size", "8,16,32", "--without", "softcap,window,sinks")
FLASHINFER_FILTERS = ("--type", "fp16,bf16", "--layout", "token-major,head-major")
# In FlashInfer's flashinfer/jit/core.py and FlashAttention's setup.py. vLLM is built without.
FAST_MATH = ("--use_fast_math",)

PREFILL = "flashinfer/attention/prefill.cuh"
# Tensor cores sum the weights, too, as they are rounded for the product with V.
PREFILL_FILTERS = (
    *FLASHINFER_FILTERS, "--head-dim", "128", "--without", "alibi,sinks,softcap,negative-scale",
    "--numerics", "sum=rounded")
# Barriers that FlashInfer's prefill lacks where it passes results on through shared memory.
PREFILL_BARRIERS = (
    Edit(PREFILL,  # warps still read the partial results over which the first one writes
         before="  } else {\n    if (get_warp_idx_kv<KTraits>(tid.z) == 0) {\n#pragma unroll\n",
         after="  } else {\n    __syncthreads();\n"
               "    if (get_warp_idx_kv<KTraits>(tid.z) == 0) {\n#pragma unroll\n"),
    Edit(PREFILL,  # lanes read what others of their warp have written
         before="      uint32_t o_smem_offset_w = "
                "o_smem->template get_permuted_offset<UPCAST_STRIDE_O>(\n"
                "          warp_idx_x * KTraits::NUM_MMA_Q * 16 + lane_idx / 8, lane_idx % 8);\n",
         after="      __syncwarp();\n      uint32_t o_smem_offset_w = "
               "o_smem->template get_permuted_offset<UPCAST_STRIDE_O>(\n"
               "          warp_idx_x * KTraits::NUM_MMA_Q * 16 + lane_idx / 8, lane_idx % 8);\n"),
)

# Rows without a key exit early, and store lse where a batch that is not packed has it: in the
# memory of other sequences, or beyond all (flash-attention issue 2842).
LSE_OFFSET = (
    Edit("flash_fwd_kernel.h",
         before="        const index_t row_offset_lseaccum = ((n_split_idx * params.b + bidb) * "
                "params.h + bidh) * params.seqlen_q + m_block * kBlockM;\n",
         after="        const index_t row_offset_lseaccum = (Split || !params.unpadded_lse ?\n"
               "            ((n_split_idx * params.b + bidb) * params.h + bidh) * params.seqlen_q :"
               "\n            bidh * params.total_q + binfo.q_offset(params.seqlen_q, 1, bidb)\n"
               "        ) + m_block * kBlockM;\n"),
)

SUBJECTS = {subject.name: subject for subject in (
    # vLLM multiplies weights and values in their own type.
    Subject("vllm-v1-fp16", VLLM, "vllm_adapter.cc", ("csrc",),
            ("--type", "fp16", "--numerics", "products=fp16", *VLLM_FILTERS)),
    Subject("vllm-v1-bf16", VLLM, "vllm_adapter.cc", ("csrc",),
            ("--type", "bf16", "--numerics", "products=bf16", *VLLM_FILTERS)),
    # v2 keeps the results of its partitions in the type of the output.
    Subject("vllm-v2-fp16", VLLM, "vllm_adapter.cc", ("csrc",),
            ("--type", "fp16", "--numerics", "products=fp16,partials=fp16", *VLLM_FILTERS),
            macros=("VLLM_V2",)),
    Subject("vllm-v2-bf16", VLLM, "vllm_adapter.cc", ("csrc",),
            ("--type", "bf16", "--numerics", "products=bf16,partials=bf16", *VLLM_FILTERS),
            macros=("VLLM_V2",)),
    Subject("flashinfer-decode", FLASHINFER, "flashinfer_decode_adapter.cc",
            ("flashinfer/data/include",),
            (*FLASHINFER_FILTERS, "--head-dim", "64,128", "--group", "1,2,3,4,8",
             "--without", "alibi,sinks"),
            nvcc_options=FAST_MATH),
    Subject("flashinfer-prefill", FLASHINFER, "flashinfer_prefill_adapter.cc",
            ("flashinfer/data/include",), PREFILL_FILTERS, macros=("ADAPTER_HEAD_DIM=128",),
            nvcc_options=FAST_MATH),
    Subject("flashinfer-prefill-with-barriers", FLASHINFER, "flashinfer_prefill_adapter.cc",
            ("flashinfer/data/include",), PREFILL_FILTERS, macros=("ADAPTER_HEAD_DIM=128",),
            nvcc_options=FAST_MATH, edits=PREFILL_BARRIERS),
    Subject("flash-attn", FLASH_ATTN, "flash_attn_adapter.cc",
            ("csrc/flash_attn/src", "csrc/cutlass/include"),
            ("--type", "fp16,bf16", "--layout", "token-major", "--head-dim", "64",
             "--block-size", "256,512", "--without", "sinks,negative-scale"),
            macros=("ADAPTER_HEAD_DIM=64",), nvcc_options=FAST_MATH),
    # One kernel in twelve, which compiles in minutes.
    *(Subject(f"flash-attn-fp16{name}", FLASH_ATTN, "flash_attn_adapter.cc",
              ("csrc/flash_attn/src", "csrc/cutlass/include"),
              ("--type", "fp16", "--layout", "token-major", "--head-dim", "64",
               "--block-size", "256,512", "--without",
               "sinks,negative-scale,alibi,window,softcap"),
              macros=("ADAPTER_HEAD_DIM=64", "FEWER_KERNELS"), nvcc_options=FAST_MATH, edits=edits)
      for name, edits in (("", ()), ("-with-lse-offset", LSE_OFFSET))),
)}


@dataclass(frozen=True)
class Fault:
    """An edit of a subject's source, and what recto must say about the edited copy."""

    name: str
    subject: str
    file: str  # below the first include folder
    before: str  # exactly once in the file
    after: str
    check: str  # the finding's first words
    # Exactly once in the edited file; a finding must name the line of its end.
    found_at: str


DECODE = "flashinfer/attention/decode.cuh"
# The end of protective_get_kv_offset's parameters.
PROTECTED = ("uint32_t entry_idx, uint32_t feat_idx,\n" + " " * 61 +
             "IdType last_indptr) const {\n")

FAULTS = (
    Fault("missing barrier", "flashinfer-decode", DECODE,
          before="      smem_md[(tz * bdy + ty) * 2 + 1] = st.d;\n      block.sync();\n",
          after="      smem_md[(tz * bdy + ty) * 2 + 1] = st.d;\n",
          check="race", found_at="float mz = smem_md[(j * bdy + ty) * 2]"),
    Fault("race between lanes", "flashinfer-decode", DECODE,
          before="    kv_offset_smem[((j * bdz + tz) * bdy + ty) * bdx + tx] =\n"
                 "        paged_kv.protective_get_kv_offset(q, kv_head_idx, r, 0, last_indptr);\n"
                 "  }\n  block.sync();",
          after="    kv_offset_smem[((j * bdz + tz) * bdy + ty) * bdx] =\n"
                "        paged_kv.protective_get_kv_offset(q, kv_head_idx, r, 0, last_indptr);\n"
                "  }\n  block.sync();",
          check="race", found_at="kv_offset_smem[((j * bdz + tz) * bdy + ty) * bdx] ="),
    Fault("block index out of bounds", "flashinfer-decode", "flashinfer/page.cuh",
          before=f"{PROTECTED}    if (page_iter < last_indptr) {{",
          after=f"{PROTECTED}    if (page_iter <= last_indptr) {{",
          check="out of bounds",
          found_at="    if (page_iter <= last_indptr) {\n      return get_elem_offset("),
    Fault("uninitialised register", "flashinfer-decode", DECODE,
          before="    q_vec.cast_load(q + batch_idx * q_stride_n + qo_head_idx * q_stride_h"
                 " + tx * vec_size);",
          after="    if (tx != 0) {\n      q_vec.cast_load(q + batch_idx * q_stride_n"
                " + qo_head_idx * q_stride_h + tx * vec_size);\n    }",
          check="undefined register",  # where it has reached a store
          found_at="st.o.store(smem + (tz * bdy + ty) * head_dim + tx * vec_size);"),
    Fault("wrong wait for cp.async", "flashinfer-decode", DECODE,
          before="    cp_async::wait_group<2 * num_stages_smem - 1>();\n    block.sync();\n"
                 "    compute_qk<POS_ENCODING_MODE,",
          after="    cp_async::wait_group<2 * num_stages_smem>();\n    block.sync();\n"
                "    compute_qk<POS_ENCODING_MODE,",
          check="unfinished copy",
          found_at="k_vec.cast_load(smem + (j * bdx + tx) * vec_size);"),
)
