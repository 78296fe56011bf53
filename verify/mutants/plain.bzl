"""Programs of plain C++ with every mutant in them, asleep."""

load("//bazel:defs.bzl", "recto_test")
load("//verify/mutants:same_code.bzl", "same_code")

# What C++ does not define ends in bounds.cc.
_UNDEFINED = "bounds,integer-divide-by-zero,null,pointer-overflow,signed-integer-overflow"

def label_of(path):
    """Of a file, //its/folder:name."""
    folder, _, name = path.rpartition("/")
    return "//%s:%s" % (folder, name)

def mutated_program(name, sources, tests, users = [], picked = [], data = [], deps = []):
    """NAME_trials, of copies of sources and of tests; NAME_mutants, a list of them in JSON; and
    NAME_same_code, which of those that nothing kills are the original's machine code.

    What is linked itself comes before what the libraries have: the copies take the place of the
    originals, which `deps` lead to.

    Args:
      name: as in drawn/NAME.txt, which is NAME_drawn.
      sources: paths of all that is copied, headers too.
      tests: labels of what may kill mutants, and of headers.
      users: paths of such tests, of headers of which nobody else uses what may be wrong: they are
        copied, so that they include the copies.
      picked: files of exact replacements.
      data: what the tests read.
      deps: of the tests.
    """
    copies = ["copies/" + path for path in sources + users]
    drawn = ":%s_drawn" % name
    scripts = ["copies.py", "operators.py", "sites.py"]
    native.genrule(
        name = name + "_copies",
        srcs = [drawn] + picked + [label_of(path) for path in sources + users],
        outs = copies + [name + "_mutants"],
        cmd = " ".join(
            [
                "python3 -B $(location copies.py) --to $(RULEDIR)/copies --plain",
                "--list $(location %s_mutants) --drawn $(location %s) --picked" % (name, drawn),
            ] +
            ["$(location %s)" % file for file in picked] +
            ["--sources"] + sources + ["--users"] + users,
        ),
        tools = scripts,
    )

    same_code(
        name = name + "_same_code",
        tags = ["full"],
        copies = name + "_copies",
        list = name + "_mutants",
        deps = deps,
    )

    # Awake is none, unless a campaign wakes one; it is nobody's test by itself.
    recto_test(
        name = name + "_trials",
        srcs = copies + tests,
        # Code in two forms makes warnings; what is wrong on purpose more so.
        copts = ["-w", "-Wno-narrowing"] + select({
            ":uninstrumented": ["-include verify/mutants/uninstrumented.h"],
            "//conditions:default": [
                "-D_GLIBCXX_ASSERTIONS",
                "-fsanitize=" + _UNDEFINED,
                "-fno-sanitize-recover=" + _UNDEFINED,
            ],
        }),
        data = data,
        tags = ["manual"],
        deps = deps + [":steps"] + select({
            ":uninstrumented": [":without_instrumentation"],
            "//conditions:default": [],
        }),
    )
