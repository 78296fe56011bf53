"""A rule that writes, for each header, a source file with nothing but that header."""

def _header_probes_impl(ctx):
    probes = []
    for header in ctx.files.headers:
        # The name has the whole path, since two headers may share their last part.
        probe = ctx.actions.declare_file("{}/{}.cc".format(
            ctx.label.name,
            header.short_path.replace("/", "_"),
        ))
        ctx.actions.write(probe, '#include "{}"\n'.format(header.short_path))
        probes.append(probe)
    return [DefaultInfo(files = depset(probes))]

header_probes = rule(
    implementation = _header_probes_impl,
    attrs = {"headers": attr.label_list(allow_files = [".h"], mandatory = True)},
)
