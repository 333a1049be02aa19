"""Runs the blocks of Python on a page, all of them or those with a word, and compares what they print with their comments."""

import contextlib
import io
import re


def run_page(path, chosen):
    with open(path, encoding="utf-8") as page:
        blocks = [block for block in re.findall(r"```python\n(.*?)```", page.read(), re.S) if chosen(block)]
    assert blocks, f"{path} has no such block"
    names = {}
    for block in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        found = " ".join(printed.getvalue().split())
        for expected in re.findall(r"^print\(.*\S\s+# (.*)$", block, re.M):
            beginning = " ".join(expected.removesuffix("..").split())
            assert beginning in found, f"{beginning!r} is not printed, but {found!r}"
            found = found[found.index(beginning) + len(beginning) :]
    return len(blocks)
