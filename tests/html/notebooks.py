"""``python -m tests.html.notebooks``: run docs/notebooks again, and write what they print."""

import re
from pathlib import Path

from tests.html.markup import Read

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"


def executed(path):
    """A notebook, run from its first cell on; raises what a cell raises."""
    import nbformat
    from nbclient import NotebookClient

    found = nbformat.read(path, as_version=4)
    NotebookClient(found, timeout=300, kernel_name="python3").execute()
    for cell in found.cells:
        cell.metadata = {}  # when it ran
    found.metadata = {"language_info": {"name": "python"}, "kernelspec": KERNEL}
    return found


KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


# What follows from the compiler of a machine: figures of errors.
BY_MACHINE = re.compile(r"\d+\.\d+(?:e-?\d+)?")


def said(kind, text):
    """What a person reads of an output, in a frame, too: no styles."""
    if kind != "text/html":
        return text
    found = Read(text)
    return found.text + "".join(said(kind, a.get("srcdoc", "")) for _, a in found.attributes)


def outputs(notebook):
    """What the cells print and show, by their numbers."""
    return [
        (number, kind, BY_MACHINE.sub("...", said(kind, text)))
        for number, cell in enumerate(notebook.cells)
        for output in cell.get("outputs", ())
        for kind, text in sorted((output.get("data") or {"text": output.get("text")}).items())
    ]


def main():
    import nbformat

    for path in sorted(FOLDER.glob("*.ipynb")):
        nbformat.write(executed(path), path)
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
