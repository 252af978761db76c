"""python translations/translate.py [NAME ...]: bring the Brazilian Portuguese edition in step with the English one.

For each document (NAME, such as notebooks/lesson_4; without one, all of them) it takes new and changed
English texts into translations/pt_BR/NAME.po, writes the Portuguese edition from what is translated there,
runs notebooks to store their outputs, and tells what is still to be done, with its place. With --list
it only tells that and writes nothing.
"""
import os
import sys

import nbformat
from nbclient.exceptions import CellExecutionError

import blocks
from catalogue import FEEDBACK, LANGUAGE, ROOT, WORDS, compile_words, documents, file_of, load, lookup, sync
from faults import faults

sys.path.insert(0, str(ROOT / "notebooks"))
from refresh import refresh  # noqa: E402  (a script beside the notebooks, not a package)


def main(arguments):
    only_tell = "--list" in arguments
    names = [argument.removesuffix(".po") for argument in arguments if argument != "--list"] or list(documents())
    unknown = set(names) - set(documents())
    if unknown:
        sys.exit(f"There is no document {', '.join(sorted(unknown))}; there are: {', '.join(documents())}.")
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"     # this Python's kernel, whatever else is installed for the user
    broken = {name: [] if only_tell else list(write(name)) for name in names}
    found = {name: broken[name] + faults(name) for name in names}
    for name, list_of in found.items():
        for place, what, english in list_of:
            print(f"{place}: {what}\n    {english[:150]}")
    for name, list_of in found.items():
        print(f"{name}: {len(list_of)} to do" if list_of else f"{name}: complete", f"({file_of(name).relative_to(ROOT).as_posix()})")
    return 1 if any(found.values()) else 0


def write(name):
    """Sync one document's .po and write what is made from it. Yields, as faults does, the notebooks that can't be run."""
    catalogue = sync(name)
    if name in (WORDS, FEEDBACK):
        compile_words()
    for source in [] if name in (WORDS, FEEDBACK) else documents()[name]:
        target = target_of(source)
        target.parent.mkdir(exist_ok=True)
        if source.suffix == ".md":
            target.write_text(portuguese(source.read_text(encoding="utf-8"), catalogue), encoding="utf-8", newline="\n")
        else:
            nbformat.write(notebook(source, catalogue), target)
            try:
                refresh(target)
            except CellExecutionError as error:
                yield target.relative_to(ROOT).as_posix(), "could not be run, so it has no outputs now", f"{error.ename}: {error.evalue}"


def notebook(source, catalogue):
    """The Portuguese edition of an English notebook, not run yet: every code cell as it is."""
    made = nbformat.read(source, as_version=4)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = portuguese(cell.source, catalogue)
        elif cell.cell_type == "code":
            cell.outputs = []
    return made


def portuguese(markdown, catalogue):
    """A Markdown text with what is translated in Portuguese, the rest in English, and links within the edition."""
    return blocks.to_edition(blocks.translate(markdown, lambda message: lookup(catalogue, message) or message), LANGUAGE)


def target_of(source):
    """The file that is made from an English one."""
    if source.suffix == ".md":
        return source.with_name(f"{source.stem}.{LANGUAGE.replace('_', '-')}{source.suffix}")
    return source.parents[1] / LANGUAGE / source.name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
