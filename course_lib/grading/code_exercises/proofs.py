"""A student's own proof is run like a test of theirs: it has to pass on what is right and to fail on what is wrong.

In place of the answer's functions comes a version that this side plays. Its text is the same whether it is right or
wrong; what it does it asks this side for, call by call, under the name _which. So a proof that reads code sees nothing.
Each version has a process of its own and an empty folder, they come in an order that nobody can know, and a right one
comes again among the wrong ones: so a proof that goes by how often it has been run sees nothing either.
"""
import ast

from ...words import tr
from ..driver import RETURNED
from .answer import slip

PROVE = '''
def _prove(which, test):
    global _which
    _which = which
    globals()[test]()
'''
RIGHT = object()


def check_proof(answer, text, right, wrong, passed=lambda: None):
    """Leave with a slip unless the answer's test functions pass on the answer itself and on a right version, and one fails on each wrong one.

    text: the version's functions, put in place of the answer's. right: the function of this side that _which calls there.
    wrong: ``{what is wrong with it: that function}``. passed: called when they have passed on the right version; may
    leave with a slip of its own.
    """
    tests = [name for name, is_function in answer.process.names.items() if is_function and name.startswith("test_")]
    if not tests:
        slip("no-proof", tr("no function whose name begins with test_"), tr("a function of your own that proves it"))
    _pass(answer, _first_failure(answer, answer.process, tests), tr("your own functions"))
    _pass(answer, _played(answer, text, right, tests), tr("a version that is right"))
    passed()
    lot = [*wrong, RIGHT]
    answer.random.shuffle(lot)
    found = {what: _played(answer, text, wrong.get(what, right), tests) for what in lot}
    _pass(answer, found[RIGHT], tr("a version that is right, after it has been run before"))
    for what in wrong:
        if found[what] is None:
            slip("proof-blind", tr("the proof passes on a version that {wrong}", wrong=tr(what)), tr("an assert of the proof fails there"),
                 tr("Your functions were taken away, and in their place came a version that {wrong}. Your proof did not notice.", wrong=tr(what)))


def fault(name=None):
    """For a text that asks for its own faults, ``if _which("no-ledger")``: the function of the version that has just this one, or none."""
    return lambda asked=None, *_, **__: asked == name is not None


def functions(text, *names):
    """Of a program of ours the imports and these functions, as text to put in place of an answer's."""
    wanted = [node for node in ast.parse(text).body
              if isinstance(node, (ast.Import, ast.ImportFrom)) or isinstance(node, ast.FunctionDef) and node.name in names]
    return "\n\n".join(ast.get_source_segment(text, node) for node in wanted)


def _pass(answer, failure, version):
    if failure:
        name, ended = failure
        slip("proof-fails", tr("run on {version}: {how}", version=version, how=answer.words(ended, name)), tr("the proof passes on {version}", version=version))


def _played(answer, text, which, tests):
    """The first test that does not pass on a version, as _first_failure gives it."""
    with answer.child() as child:
        child.run(text + PROVE)
        return _first_failure(answer, child, tests, lambda name: child.call("_prove", which, name))


def _first_failure(answer, child, tests, call=None):
    """``(name, how it ended)`` of the first test that does not pass, else None."""
    for name in tests:
        child.run(f"__import__('os').chdir({str(answer.folder())!r})")
        ended = (call or child.call)(name)
        if ended.status != RETURNED:
            return name, ended
    return None
