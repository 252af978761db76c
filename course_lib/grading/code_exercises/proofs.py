"""A student's own proof is run like a test of theirs: it has to pass on what is right and to fail on what is wrong.

Each run begins in an empty folder: what one has left behind is not to make the next one fail.
"""
import ast

from ...words import tr
from ..driver import RETURNED
from .answer import slip


def check_proof(answer, right, wrong, passed=lambda: None):
    """Leave with a slip unless the answer's test functions pass on the answer itself and on ``right``, and one fails on each of ``wrong``.

    right: program text that is put in place of functions of the answer. wrong: ``{what is wrong with it: text}``.
    passed: called when they have passed on ``right``; may leave with a slip of its own.
    """
    tests = [name for name, is_function in answer.process.names.items() if is_function and name.startswith("test_")]
    if not tests:
        slip("no-proof", tr("no function whose name begins with test_"), tr("a function of your own that proves it"))
    _pass(answer, answer.process, tests, tr("your own functions"))
    with answer.child() as child:
        child.run(right)
        _pass(answer, child, tests, tr("a version that is right"))
        passed()
        for what, text in wrong.items():
            child.run(text)
            if _first_failure(answer, child, tests)[1] is None:
                slip("proof-blind", tr("the proof passes on a version that {wrong}", wrong=tr(what)), tr("an assert of the proof fails there"),
                     tr("Your functions were taken away and a version that {wrong} put in their place. Your proof did not notice.", wrong=tr(what)))


def functions(text, *names):
    """Of a program of ours the imports and these functions, as text to put in place of an answer's."""
    wanted = [node for node in ast.parse(text).body
              if isinstance(node, (ast.Import, ast.ImportFrom)) or isinstance(node, ast.FunctionDef) and node.name in names]
    return "\n\n".join(ast.get_source_segment(text, node) for node in wanted)


def _pass(answer, child, tests, version):
    name, ended = _first_failure(answer, child, tests)
    if ended:
        slip("proof-fails", tr("run on {version}: {how}", version=version, how=answer.words(ended, name)), tr("the proof passes on {version}", version=version))


def _first_failure(answer, child, tests):
    """``(name, how it ended)`` of the first test that does not pass, else ``(None, None)``."""
    for name in tests:
        child.run(f"__import__('os').chdir({str(answer.folder())!r})")
        ended = child.call(name)
        if ended.status != RETURNED:
            return name, ended
    return None, None
