"""A test of a kernel with pytest: one for each law, on cases that are drawn from the seed.

    pytest test_first_steps.py -n auto --recto-seed=7 --recto-cases=100
"""

import first_steps

import recto


@recto.attention_cases(types=["fp16"], layouts=["token-major"], without=["alibi", "sinks"],
                       cases=20, context_max=200, sequences_max=8, q_heads_max=16)
def test_decode(cases):
    cases.verify(decode=first_steps.attention)
