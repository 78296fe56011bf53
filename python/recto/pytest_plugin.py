"""The pytest plugin: parametrises tests with `@recto.attention_cases`. pytest finds it by its entry
point, `-p recto.pytest_plugin` loads it from a checkout."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ._attention_cases import MARK, PARAMETER, AttentionCases, Group


def pytest_addoption(parser: pytest.Parser) -> None:
    options = parser.getgroup("recto", "paged attention")
    options.addoption("--recto-seed", type=int, metavar="N", help="seed of the drawn cases [2026]")
    options.addoption("--recto-cases", type=_positive, metavar="N", help="cases for each law [40]")
    options.addoption(
        "--recto-database", type=Path, metavar="DIR", default=Path(".recto"),
        help="folder of failing cases, which run first the next time [.recto]",
    )


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise ValueError(text)
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(words): made by recto.attention_cases")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None:
        return
    name = metafunc.definition.nodeid
    if PARAMETER not in metafunc.fixturenames:
        raise pytest.UsageError(
            f"{name}: recto.attention_cases: expected a parameter named {PARAMETER!r}"
        )
    cases, seed = map(metafunc.config.getoption, ("--recto-cases", "--recto-seed"))
    groups = mark.args[0](cases, seed)
    metafunc.parametrize(PARAMETER, groups, ids=[str(group) for group in groups], indirect=True)


@pytest.fixture
def cases(request: pytest.FixtureRequest) -> AttentionCases:
    """The cases of one test, as `recto.attention_cases` makes them."""
    if not isinstance(getattr(request, "param", None), Group):
        raise pytest.UsageError("cases: expected the test to be decorated by recto.attention_cases")
    return AttentionCases(request.param, _folder(request), request.node.nodeid)


def _folder(request: Any) -> Path:
    """The test's own part of the database."""
    name = re.sub(r"[^\w.]+", "-", request.node.nodeid.partition("[")[0])
    database: Path = request.config.rootpath / request.config.getoption("--recto-database")
    return database / name
