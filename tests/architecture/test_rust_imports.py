"""Imports of Rust modules: no module imports one that leads back to it."""

from pathlib import Path

import pytest

from architecture.checkout import CHANNEL, CORE
from architecture.rust_imports import Module, cycles, imports, modules_of, rust_code


def name_of(module: Module) -> str:
    return "::".join(("crate", *module))


@pytest.mark.parametrize("crate", [CORE, CHANNEL], ids=["mdreel-core", "mdreel-channel"])
def test_modules_do_not_import_one_another_in_circles(crate: Path) -> None:
    modules = modules_of(crate)
    graph = imports(modules)
    assert sum(map(len, graph.values())) > 2 * len(modules), "the search found the imports"
    found = [
        f"{name_of(module)}, line {line}, imports {name_of(target)}"
        for group in cycles(graph)
        for module in group
        for target, line in graph[module].items()
        if target in group
    ]
    assert not found, "move what both need to a module of its own:\n" + "\n".join(found)


def test_managed_directories_and_the_source_stand_above_the_channel() -> None:
    graph = imports(modules_of(CHANNEL))
    above = {"managed", "source"}
    wrong = [
        f"{name_of(module)}, line {line}, imports {name_of(target)}"
        for module, targets in graph.items()
        for target, line in targets.items()
        if module and target and target[0] in above and module[0] != target[0]
    ]
    assert not wrong, "\n".join(wrong)


def graph_of(**sources: str) -> dict[Module, dict[Module, int]]:
    """The imports of modules with the given code; `a__b` is the module b in a, `lib` the root."""
    names = {name: () if name == "lib" else tuple(name.split("__")) for name in sources}
    return imports({names[name]: rust_code(code) for name, code in sources.items()})


@pytest.mark.parametrize(
    "sources",
    [
        {"a": "use crate::b::B;", "b": "use crate::a::{self, A};"},
        {"a": "use super::b::B;", "b": "fn f() { super::a::f(); }"},
        {"a": "mod b;\nuse b::B;", "a__b": "use super::A;"},
        {"a": "mod b;\nfn f() -> b::B { b::f() }", "a__b": "use crate::{c::C, a::{D, E}};", "c": ""},
        {"a": "use crate::b::B;", "b": "use crate::c::C;", "c": "use crate::a::A;"},
        {"a": "use crate::b::Shown;", "b": "mod c;\npub use c::Shown;", "b__c": "use crate::a::A;"},
    ],
)
def test_search_finds_circles(sources: dict[str, str]) -> None:
    assert len(cycles(graph_of(**sources))) == 1


@pytest.mark.parametrize(
    "sources",
    [
        {"a": "use crate::b::B;", "b": "// use crate::a::A;\n"},
        {"a": "mod b;\npub use b::B;", "a__b": "use super::A;"},
        {"a": "mod b;\nmod c;\npub(crate) use b::{B, D};", "a__b": "", "a__c": "use super::{A, B};"},
        {"a": "use crate::b::B;", "b": "pub(in crate::a) fn f() {}"},
        {"a": "use crate::b::B;", "b": "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}"},
        {"lib": "pub mod a;\npub use a::A;", "a": "use crate::A as B;"},
    ],
)
def test_search_finds_no_circle_where_there_is_none(sources: dict[str, str]) -> None:
    assert not cycles(graph_of(**sources))


def test_search_follows_every_way_of_writing_imports() -> None:
    graph = graph_of(
        a="use crate::{b::{C, D}, e};\nlet x = super::f::g();\nuse std::b::B;",
        b="",
        e="",
        f="",
        a__h="use super::super::b;",
    )
    assert graph["a",] == {("b",): 1, ("e",): 1, ("f",): 2}
    assert graph["a", "h"] == {("b",): 1}
