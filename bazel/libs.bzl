"""The repository @libs: the distribution's C++ libraries, one cc_library each.

libs.txt lists them. Only the named headers are linked into the repository, never a whole include
folder: as a system include path that would break the standard library's #include_next. What they
include in turn (the rest of Boost, zconf.h) the compiler finds where it always looks.
"""

# Searched by every compiler and linker anyway, so that no path needs to be passed on.
_PREFIXES = ["/usr/local/include/", "/usr/include/"]

_HEADER = """\
# Made by //bazel:libs.bzl.
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])
"""

_LIBRARY = """
cc_library(
    name = "{target}",
    hdrs = glob(["{target}.headers/**"]),
    includes = ["{target}.headers"],
    linkopts = {linkopts},
)
"""

def _parse(table):
    """Returns one struct per line of libs.txt."""
    rows = []
    for line in table.splitlines():
        words = [word for word in line.split(" ") if word]
        if not words or words[0].startswith("#"):
            continue
        rows.append(struct(
            target = words[0],
            package = words[1],
            link = words[2],
            headers = words[3:],
        ))
    return rows

def _link_headers(ctx, row):
    """Links the headers of a library into its folder; returns the first that is missing, or None."""
    for word in row.headers:
        folder, _, seen = word.rpartition(":")
        seen = seen.rstrip("/")
        path = folder + "/" + seen if folder else seen
        found = [ctx.path(prefix + path) for prefix in _PREFIXES if ctx.path(prefix + path).exists]
        if not found:
            return path
        ctx.symlink(found[0], row.target + ".headers/" + seen)
    return None

def _linkopts(ctx, row):
    if row.link == "-":
        return []
    if not row.link.startswith("pkg:"):
        return [row.link]
    name = row.link[len("pkg:"):]
    result = ctx.execute(["pkg-config", "--libs", "--static", name])
    if result.return_code != 0:
        fail("libs: pkg-config cannot tell how to link {} of package {} (is pkgconf installed?): {}".format(
            name,
            row.package,
            result.stderr.strip(),
        ))
    return [word for word in result.stdout.strip().split(" ") if word]

def _libs_impl(ctx):
    build = _HEADER
    missing = []
    for row in _parse(ctx.read(ctx.attr.table)):
        absent = _link_headers(ctx, row)
        if absent:
            missing.append("{} (no <{}>)".format(row.package, absent))
        else:
            build += _LIBRARY.format(target = row.target, linkopts = repr(_linkopts(ctx, row)))
    if missing:
        fail("libs: please install " + ", ".join(missing) + "; ./bazelw does it where apt is there")
    ctx.file("BUILD.bazel", build)

libs_repository = repository_rule(
    implementation = _libs_impl,
    attrs = {"table": attr.label(default = "//bazel:libs.txt", allow_single_file = True)},
    environ = ["PKG_CONFIG_PATH"],
    # Looked at anew whenever Bazel's server starts: an upgrade may change how a library is linked.
    local = True,
)
