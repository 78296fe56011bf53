"""The repository @libs: the distribution's C++ libraries, one cc_library each.

libs.txt lists them. Their headers are in folders that every compiler searches, so they are not
inputs of the build: otherwise a compilation in a sandbox would start by linking thousands of files.
Instead, each command line has a macro with the time of installation, so that files compiled against
other headers are compiled again.
"""

# Every compiler and linker searches these, so no path needs to be passed.
_INCLUDE_FOLDERS = ["/usr/local/include/", "/usr/include/"]

_HEADER = """\
# Made by //bazel:libs.bzl.
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])
"""

_LIBRARY = """
cc_library(
    name = "{target}",
    hdrs = {forwarders},
    defines = ["RECTO_INSTALLED_{macro}={time}"],
    includes = {includes},
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

def _find(ctx, header):
    """Returns the path of an installed header (or folder of headers), or None."""
    for folder in _INCLUDE_FOLDERS:
        path = ctx.path(folder + header)
        if path.exists:
            return path
    return None

def _forward(ctx, row, word):
    """For "A:B", writes a header B/x for each A/B/x; returns the new files."""
    folder, _, seen = word.rstrip("/").rpartition(":")
    if not folder:
        return []
    forwarders = []
    for entry in _find(ctx, folder + "/" + seen).readdir():
        if entry.basename == "src":
            continue  # a folder, reached from the headers beside it
        header = seen + "/" + entry.basename
        ctx.file(row.target + "/" + header, "#include <{}/{}>\n".format(folder, header))
        forwarders.append(row.target + "/" + header)
    return sorted(forwarders)

def _installation_time(ctx, paths):
    """Returns when the newest of the paths was changed; unpacking a package changes its folder."""
    result = ctx.execute(["stat", "--dereference", "--format=%Y"] + paths)
    if result.return_code != 0:
        fail("libs: " + result.stderr)
    return max([int(line) for line in result.stdout.splitlines()])

def _linkopts(ctx, row):
    if row.link == "-":
        return []
    if not row.link.startswith("pkg:"):
        return [row.link]
    name = row.link[len("pkg:"):]
    result = ctx.execute(["pkg-config", "--libs", "--static", name])
    if result.return_code != 0:
        fail("libs: pkg-config has no flags to link {}: {}".format(name, result.stderr.strip()))
    return [word for word in result.stdout.strip().split(" ") if word]

def library_names(ctx, table):
    """Returns NAME for each -lNAME with which the libraries of the table are linked."""
    words = []
    for row in _parse(ctx.read(table)):
        words += _linkopts(ctx, row)
    return [word[len("-l"):] for word in words if word.startswith("-l")]

def _library(ctx, row, paths):
    """Returns the cc_library of a row, whose headers are installed as `paths`."""
    forwarders = []
    for word in row.headers:
        forwarders += _forward(ctx, row, word)
    return _LIBRARY.format(
        target = row.target,
        forwarders = repr(forwarders),
        includes = repr([row.target] if forwarders else []),
        macro = row.target.upper(),
        time = _installation_time(ctx, paths),
        linkopts = repr(_linkopts(ctx, row)),
    )

def _libs_impl(ctx):
    build = _HEADER
    missing = []
    for row in _parse(ctx.read(ctx.attr.table)):
        headers = [word.replace(":", "/").rstrip("/") for word in row.headers]
        absent = [header for header in headers if not _find(ctx, header)]
        if absent:
            missing.append("{} (no <{}>)".format(row.package, absent[0]))
        else:
            build += _library(ctx, row, [_find(ctx, header) for header in headers])
    if missing:
        fail("libs: please install " + ", ".join(missing) + "; ./bazelw does it where apt exists")
    ctx.file("BUILD.bazel", build)

libs_repository = repository_rule(
    implementation = _libs_impl,
    attrs = {"table": attr.label(default = "//bazel:libs.txt", allow_single_file = True)},
    environ = ["PKG_CONFIG_PATH"],
    # Evaluated again whenever Bazel's server starts: an upgrade may change how a library is linked.
    local = True,
)
