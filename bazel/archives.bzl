"""The repository @archives: static libraries (.a) for programs that run on other machines.

installed/ has links to installed archives; those of sources.txt are fetched and compiled. A linker
that gets these folders prefers them to the shared libraries of the same name. missing.txt lists
unavailable archives as "NAME: WHY"; these libraries are linked as everywhere else.
"""

load("//bazel:libs.bzl", "library_names")

# Parts of glibc, for which programs use the machine's own.
_SYSTEM = ["c", "dl", "m", "pthread", "rt"]

_BUILD = """\
# Made by //bazel:archives.bzl.
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

exports_files(["missing.txt"])

filegroup(
    name = "archives",
    srcs = glob(["installed/*.a"]) + {compiled},
)
"""

# The same version as the installed headers, which they use.
_COMPILED = {
    "benchmark": """
cc_library(
    name = "benchmark",
    srcs = glob(["benchmark/src/*.cc", "benchmark/src/*.h"], exclude = ["*/src/benchmark_main.cc"]),
    copts = ["-O2", "-w", "-DNDEBUG", "-DHAVE_STD_REGEX", "-DHAVE_STEADY_CLOCK"],
    linkstatic = True,
)
""",
    "fmt": """
cc_library(
    name = "fmt",
    srcs = ["fmt/src/format.cc", "fmt/src/os.cc"],
    copts = ["-O2", "-w"],
    linkstatic = True,
)
""",
    "simdjson": """
cc_library(
    name = "simdjson",
    srcs = ["simdjson/singleheader/simdjson.cpp", "simdjson/singleheader/simdjson.h"],
    copts = ["-O2", "-w"],
    linkstatic = True,
)
""",
    "zip": """
cc_library(
    name = "zip_alone",
    srcs = glob(
        ["zip/lib/*.c", "zip/lib/*.h"],
        exclude = ["zip/lib/*" + part + "*.c" for part in [
            "aes", "bzip2", "crypto_", "uwp", "win32", "xz",
        ]],
    ),
    copts = ["-O2", "-w", "-DHAVE_CONFIG_H"],
    linkstatic = True,
)
""",
}

# The configuration that libzip's own build would detect on a modern Linux, without encryption, and
# with zlib's compression only.
_ZIP_CONFIG = "".join(["#define {}\n".format(name) for name in [
    "HAVE_DIRENT_H",
    "HAVE_FILENO",
    "HAVE_FSEEKO",
    "HAVE_FTELLO",
    "HAVE_LOCALTIME_R",
    "HAVE_MKSTEMP",
    "HAVE_SNPRINTF",
    "HAVE_STDBOOL_H",
    "HAVE_STRCASECMP",
    "HAVE_STRDUP",
    "HAVE_STRINGS_H",
    "HAVE_STRTOLL",
    "HAVE_STRTOULL",
    "HAVE_UNISTD_H",
    "SIZEOF_OFF_T 8",
    "SIZEOF_SIZE_T 8",
]])

_ZIP_ERRORS = """\
#include "zipint.h"

const char* const _zip_err_str[] = {
%s};
const int _zip_nerr_str = sizeof(_zip_err_str) / sizeof(_zip_err_str[0]);
const int _zip_err_type[] = {
%s};
"""

_ZIP_KINDS = {"N": "ZIP_ET_NONE", "S": "ZIP_ET_SYS", "Z": "ZIP_ET_ZLIB"}

def _configure_zip(ctx):
    """Writes the two files that libzip's own build makes, and lets the linker take zlib with it."""
    ctx.file("installed/libzip.a", "INPUT(-lzip_alone -lz)\n")
    ctx.file("zip/lib/config.h", _ZIP_CONFIG)
    texts, kinds = "", ""
    for line in ctx.read("zip/lib/zip.h").splitlines():
        if line.startswith("#define ZIP_ER_"):
            kind, _, text = line.partition("/*")[2].rpartition("*/")[0].strip().partition(" ")
            texts += "    \"{}\",\n".format(text)
            kinds += "    {},\n".format(_ZIP_KINDS[kind])
    ctx.file("zip/lib/zip_err_str.c", _ZIP_ERRORS % (texts, kinds))

def _link_installed(ctx):
    """Makes a link to each archive that the compiler would find, and returns the libraries without
    an archive."""
    names = [name for name in library_names(ctx, ctx.attr.table) if name not in _SYSTEM]
    names.append("stdc++")
    script = "for name; do g++ -print-file-name=lib$name.a; done"
    found = ctx.execute(["bash", "-c", script, "find"] + names)
    absent = []
    for name, path in zip(names, found.stdout.splitlines()):
        if path.startswith("/"):
            ctx.symlink(path, "installed/" + path.rpartition("/")[2])
        else:
            absent.append(name)
    return absent

def _archives_impl(ctx):
    # Evaluated again when libraries are reinstalled, as @libs is.
    ctx.path(ctx.attr.libs)
    absent = _link_installed(ctx)
    compiled, missing, listed = [], [], []
    for line in ctx.read(ctx.attr.sources).splitlines():
        words = [word for word in line.split(" ") if word]
        if not words or words[0].startswith("#"):
            continue
        name = words[0]
        listed.append(name)
        if ctx.path("installed/lib{}.a".format(name)).exists:
            continue
        fetched = ctx.execute(["bash", ctx.path(ctx.attr.fetch)] + words)
        if fetched.return_code == 0:
            compiled.append(name)
        else:
            missing.append("{}: {}\n".format(name, fetched.stdout.strip()))
    for name in absent:
        if name not in listed:
            missing.append("{}: no archive is installed\n".format(name))
    if "zip" in compiled:
        _configure_zip(ctx)
    ctx.file("missing.txt", "".join(missing))
    libraries = [":zip_alone" if name == "zip" else ":" + name for name in compiled]
    ctx.file("BUILD.bazel", _BUILD.format(compiled = repr(libraries)) +
                            "".join([_COMPILED[name] for name in compiled]))

archives_repository = repository_rule(
    implementation = _archives_impl,
    attrs = {
        "fetch": attr.label(default = "//bazel:fetch_source.sh", allow_single_file = True),
        "libs": attr.label(default = "@libs//:BUILD.bazel", allow_single_file = True),
        "sources": attr.label(default = "//bazel:sources.txt", allow_single_file = True),
        "table": attr.label(default = "//bazel:libs.txt", allow_single_file = True),
    },
    environ = ["PATH", "PKG_CONFIG_PATH"],
)
