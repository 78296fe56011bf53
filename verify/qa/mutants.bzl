"""Copies of sources with every mutant in them, inactive, and programs of these copies."""

load("//bazel:defs.bzl", "recto_test")
load("//verify/qa:programs.bzl", "test_files")

# What C++ does not define; mutant.cc reports it.
_UNDEFINED = "bounds,integer-divide-by-zero,null,pointer-overflow,signed-integer-overflow"

def _mutant_copies_impl(ctx):
    copies, groups = [], {}
    for file in ctx.files.sources + ctx.files.users:
        copy = ctx.actions.declare_file("copies/" + file.path)
        copies.append(copy)
        group = file.dirname.replace("/", "_") + "_" + file.extension
        groups[group] = groups.get(group, []) + [copy]
    arguments = ctx.actions.args()
    arguments.add(ctx.files.scripts[0])
    arguments.add("--to", "%s/%s/copies" % (ctx.bin_dir.path, ctx.label.package))
    arguments.add("--list", ctx.outputs.list)
    arguments.add("--drawn", ctx.file.drawn)
    arguments.add_all("--picked", ctx.files.picked)
    arguments.add_all("--sources", ctx.files.sources)
    arguments.add_all("--users", ctx.files.users)
    ctx.actions.run(
        outputs = copies + [ctx.outputs.list],
        inputs = ctx.files.scripts + ctx.files.sources + ctx.files.users + ctx.files.picked +
                 [ctx.file.drawn],
        executable = "python3",
        arguments = ["-B", arguments],
        mnemonic = "MutantCopies",
        use_default_shell_env = True,
    )
    return [
        DefaultInfo(files = depset(copies)),
        OutputGroupInfo(**{name: depset(files) for name, files in groups.items()}),
    ]

mutant_copies = rule(
    implementation = _mutant_copies_impl,
    doc = "Runs copies.py. An output group has the copies of a folder and an extension.",
    attrs = {
        "drawn": attr.label(allow_single_file = True, mandatory = True, doc = "their names"),
        "list": attr.output(mandatory = True, doc = "of mutants, in JSON"),
        "picked": attr.label_list(allow_files = True, doc = "files of picked mutants"),
        "scripts": attr.label_list(allow_files = True, default = [
            "//verify/qa:copies.py",
            "//verify/qa:operators.py",
            "//verify/qa:sites.py",
        ]),
        "sources": attr.label_list(allow_files = True, doc = "what is mutated, with headers"),
        "users": attr.label_list(allow_files = True, doc = "copied, to include the copies"),
    },
)

def mutated_program(name, program, sources, tests = [], users = [], data = [], deps = []):
    """NAME_trials, a program of copies of plain C++ and of tests, and NAME_mutants.json.

    The copies take the place of the originals, which `deps` lead to, because what is linked itself
    comes before what libraries have.

    Args:
      name: as in drawn/NAME.txt, which is NAME_drawn, and picked/NAME/*.txt.
      program: of programs.bzl.
      sources: what is mutated, with headers.
      tests: further sources that are not mutated.
      users: tests that alone use what may be wrong in a header: they are copied, too.
      data: what the tests read.
      deps: of the tests.
    """
    mutant_copies(
        name = name + "_copies",
        testonly = True,
        drawn = ":%s_drawn" % name,
        list = name + "_mutants.json",
        picked = native.glob(["picked/%s/*.txt" % name]),
        sources = sources,
        users = users,
    )

    # No mutant is active, unless a campaign activates one; it is no test by itself.
    recto_test(
        name = name + "_trials",
        srcs = [":%s_copies" % name] + test_files(program) + tests,
        # Code in two forms makes warnings; what is wrong on purpose more so.
        copts = ["-w", "-Wno-narrowing"] + select({
            ":uninstrumented": ["-DRECTO_UNINSTRUMENTED"],
            "//conditions:default": [
                "-D_GLIBCXX_ASSERTIONS",
                "-fsanitize=" + _UNDEFINED,
                "-fno-sanitize-recover=" + _UNDEFINED,
            ],
        }),
        data = data,
        tags = ["manual"],
        deps = deps + [":mutant"],
    )
