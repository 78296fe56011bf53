"""Translates __shared__ variables."""

import re

from cuda_text import DIRECTIVE, Failure, blank, keep_lines, split_top

SHARED = re.compile(
    r"(?<!\w)(?P<before>(?:(?:extern|static|volatile)\s+)*)__shared__\s+(?P<rest>[^;]*?)\s*;"
)
DECLARATOR = re.compile(
    r"^(?P<type>.*?[\s*>&])(?P<name>\w+)\s*(?P<dims>(?:\[[^\[\]]*\]\s*)*)$", re.S
)
ALIGNMENT = re.compile(r"__align__\s*\(\s*(\d+)\s*\)|alignas\s*\(\s*(\d+)\s*\)")


def translate_shared(_text, code, match):
    """Returns (start, end, replacement): a declaration per declarator, all with one type."""
    check_scope(code, match)
    declaration = match["rest"]
    check_named_type(declaration)
    if "=" in declaration:
        raise Failure("a __shared__ variable cannot have an initialiser")
    # Does not split at commas between the arguments of a template.
    first, *others = split_top(declaration, declaration, ",", "([{<)]}>")
    texts = [translate_declarator(first, match["before"])]
    if others:
        kind = DECLARATOR.match(first)["type"].strip()
        if kind.endswith(("*", "&")):
            raise Failure(
                "expected one variable after __shared__ with a pointer, "
                f"got '{declaration.strip()}'"
            )
        texts += [translate_declarator(f"{kind} {other}", match["before"]) for other in others]
    return match.start(), match.end(), keep_lines(" ".join(texts), match.group(0))


def translate_declarator(declaration, before):
    is_dynamic = "extern" in before
    alignment = ALIGNMENT.search(declaration)
    declaration = ALIGNMENT.sub("", declaration)
    declarator = DECLARATOR.match(declaration.strip())
    if declarator is None or "," in re.sub(r"<[^<>]*>", "", declarator["type"]):
        raise Failure(f"expected one variable after __shared__, got '{declaration.strip()}'")
    kind, name, dims = declarator["type"].strip(), declarator["name"], declarator["dims"]
    if "volatile" in before:
        kind = "volatile " + kind
    if is_dynamic:
        text = f"{kind}* const {name} = static_cast<{kind}*>(::simt_foreign::dynamic_shared());"
    else:
        align = (alignment.group(1) or alignment.group(2)) if alignment else "1"
        text = (
            f"typedef {kind} {name}_shared_type{dims}; "
            f"SIMT_FOREIGN_SHARED({name}, {name}_shared_type, {align});"
        )
    return text


NAMESPACE = re.compile(r"(?:inline\s+)?namespace\b[^()]*|extern")


def is_in_function(code, position):
    """Whether a brace that is not a namespace's is open at `position`."""
    code = DIRECTIVE.sub(blank, code)
    are_namespaces = []
    head = 0
    for brace in re.finditer(r"[{};]", code[:position]):
        if brace.group() == "{":
            text = code[head : brace.start()].strip()
            are_namespaces.append(NAMESPACE.fullmatch(text) is not None)
        elif brace.group() == "}" and are_namespaces:
            are_namespaces.pop()
        head = brace.end()
    return not all(are_namespaces)


DEFINED_TYPE = re.compile(r"\b(union|struct|class|enum)\b[^{;<(]*\{")


def check_named_type(declaration):
    defined = DEFINED_TYPE.search(declaration)
    if defined is not None:
        raise Failure(
            f"expected the name of a type after __shared__, got the {defined.group(1)} itself: "
            "define it before, with a name"
        )


def check_scope(code, match):
    # The scope of a macro's body is where the macro is used.
    if DIRECTIVE.sub(blank, code)[match.start() : match.end()].strip() == "":
        return
    if not is_in_function(code, match.start()):
        raise Failure("expected __shared__ within a function, where the executor can place it")
