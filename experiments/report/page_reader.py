"""What tests read from a report: its parts, a picture of it, and what a browser sees."""

import html
import json
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

# Anything that makes a browser load something else while a page is opened.
_LOADS = re.compile(
    r"""<(?:script|img|iframe|audio|video|embed|source)\b[^>]*\ssrc="""
    r"""|<link\b[^>]*\shref="(?!data:)"""
    r"""|url\(\s*["']?(?:https?:)?//|@import|\bfetch\(|XMLHttpRequest|new WebSocket|importScripts"""
)


def external_loads(page):
    return [match.group(0) for match in _LOADS.finditer(page)]


def embedded(page, name):
    pattern = rf'<script type="application/json" id="{name}">(.*?)</script>'
    return json.loads(re.search(pattern, page, re.DOTALL).group(1))


def browser():
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((found for found in map(shutil.which, names) if found), None)


def _browse(page, profile, *options):
    command = [
        browser(),
        "--headless=new",
        "--no-sandbox",  # a test may be run by root
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        "--virtual-time-budget=60000",
        f"--user-data-dir={profile}",
        *options,
        page,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=240).stdout


def selftest(path, profile, size=(1360, 1500)):
    """What web/selftest.js recorded."""
    page = f"file://{path}#selftest"
    shown = _browse(page, profile, "--dump-dom", "--window-size={},{}".format(*size))
    found = re.search(r'<pre id="seen"[^>]*>(.*?)</pre>', shown, re.DOTALL)
    assert found, f"the page did not try itself: {shown[:300]}"
    return json.loads(html.unescape(found.group(1)))


def screenshot(path, profile, size):
    """Rows of (red, green, blue)."""
    target = Path(profile) / "page.png"
    page = f"file://{path}"
    _browse(page, profile, f"--screenshot={target}", "--window-size={},{}".format(*size))
    return decode_png(target.read_bytes())


def _paeth(left, above, corner):
    guess = left + above - corner
    distances = (abs(guess - left), abs(guess - above), abs(guess - corner))
    return (left, above, corner)[distances.index(min(distances))]


def _unfiltered(kind, line, before, pixel):
    out = bytearray(line)
    for i, value in enumerate(line):
        left = out[i - pixel] if i >= pixel else 0
        corner = before[i - pixel] if i >= pixel else 0
        add = (0, left, before[i], (left + before[i]) // 2, 0)[kind]
        out[i] = (value + (_paeth(left, before[i], corner) if kind == 4 else add)) & 255
    return out


def decode_png(data):
    """An 8-bit RGB or RGBA picture without interlace, as browsers write them (RFC 2083)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, pieces = 8, {}
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        pieces[kind] = pieces.get(kind, b"") + data[at + 8 : at + 8 + length]
        at += length + 12
    width, height, depth, colour_type, _, _, interlace = struct.unpack(">IIBBBBB", pieces[b"IHDR"])
    assert (depth, interlace) == (8, 0) and colour_type in (2, 6)
    pixel = {2: 3, 6: 4}[colour_type]
    raw = zlib.decompress(pieces[b"IDAT"])
    stride = width * pixel
    rows, before = [], bytes(stride)
    for y in range(height):
        start = y * (stride + 1)
        line = _unfiltered(raw[start], raw[start + 1 : start + 1 + stride], before, pixel)
        rows.append([tuple(line[x : x + 3]) for x in range(0, stride, pixel)])
        before = line
    return rows
