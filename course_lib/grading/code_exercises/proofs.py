"""A student's own proof is run like a test of theirs: it has to pass on what is right and to fail on what is wrong.

In place of the answer's functions comes a version that this side plays. Its text is the same whether it is right or
wrong: a function of it asks this side what to do, does that, says what came of it, and asks again. So a proof that reads
code sees nothing, and there is nothing to ask for but what the functions do: whoever asks has to play a whole call
through, which is no less than to call the function. Each version has a process of its own and an empty folder, they come
in an order that nobody can know, and right ones come again among the wrong ones, by another way: so a proof that goes
by how often it has been run can only guess, and one that goes by single steps takes what is right for wrong.
"""
import ast

from ...words import tr
from ..driver import RETURNED, Fails
from .answer import slip

PLAY = '''
def _played(_name, _doing, *_given):
    """One call of a function: what it does it is told, step by step. A step's error is the call's error."""
    call, step, *with_what = _play(None, _name, *_given)
    while step:
        call, step, *with_what = _play(call, _doing[step](*with_what))
    return with_what[0]


def _prove(play, test):
    global _play
    _play = play
    globals()[test]()
'''
RIGHT = object()
AGAIN = 3  # times that a right version comes among the wrong ones; who guesses which is which is wrong nine times out of ten, or more often


def check_proof(answer, text, version, wrong, passed=lambda: None):
    """Leave with a slip unless the answer's test functions pass on the answer itself and on a right version, and one fails on each wrong one.

    text: the version's functions, put in place of the answer's; in it _played(name, doing, *given) plays a call.
    version: fault → ``{name: generator function}``; a generator is called with what was given, yields each step as
    ``(a key of doing, *arguments)``, gets what came of it, and returns what the call gives. The fault is None for a
    right version, RIGHT for a right one by another way. wrong: ``{what is wrong with a version: its fault}``. passed:
    called when they have passed on the right version; may leave with a slip of its own.
    """
    tests = [name for name, is_function in answer.process.names.items() if is_function and name.startswith("test_")]
    if not tests:
        slip("no-proof", tr("no function whose name begins with test_"), tr("a function of your own that proves it"))
    _pass(answer, _first_failure(answer, answer.process, tests), tr("your own functions"))
    _pass(answer, _played(answer, text, version(None), tests), tr("a version that is right"))
    passed()
    lot = [*wrong.items(), *[(RIGHT, RIGHT)] * AGAIN]
    answer.secret.shuffle(lot)
    found = [(what, _played(answer, text, version(fault), tests)) for what, fault in lot]
    for failure in (failure for what, failure in found if what is RIGHT):
        _pass(answer, failure, tr("a version that is right, after it has been run before"))
    for what in wrong:
        if dict(found)[what] is None:
            slip("proof-blind", tr("the proof passes on a version that {wrong}", wrong=tr(what)), tr("an assert of the proof fails there"),
                 tr("Your functions were taken away, and in their place came a version that {wrong}. Your proof did not notice.", wrong=tr(what)))


def functions(text, *names):
    """Of a program of ours the imports and these functions, as text to put in place of an answer's."""
    wanted = [node for node in ast.parse(text).body
              if isinstance(node, (ast.Import, ast.ImportFrom)) or isinstance(node, ast.FunctionDef) and node.name in names]
    return "\n\n".join(ast.get_source_segment(text, node) for node in wanted)


def _pass(answer, failure, version):
    if failure:
        name, ended = failure
        slip("proof-fails", tr("run on {version}: {how}", version=version, how=answer.words(ended, name)), tr("the proof passes on {version}", version=version))


def _played(answer, text, version, tests):
    """The first test that does not pass on a version, as _first_failure gives it."""
    with answer.child() as child:
        child.run(text + PLAY)
        return _first_failure(answer, child, tests, lambda name: child.call("_prove", player(version), name))


def player(version):
    """The function of this side that _play calls: ``(None, name, *given)`` begins a call, ``(call, what came of the step)`` goes on with it.

    Gives ``(call, step, *arguments)``, and ``(call, None, value)`` at the end.
    """
    calls = []

    def play(call, /, *given):
        try:
            if call is None:
                name, *given = given
                calls.append(version[name](*given))
                call, given = len(calls) - 1, [None]
            return [call, *calls[call].send(*given)]
        except StopIteration as end:
            return [call, None, end.value]
        except Exception as error:  # what a step gave was odd; where a version is all in one place, it would be raised there
            raise Fails(f"{type(error).__name__}: {error}") from error
    return play


def _first_failure(answer, child, tests, call=None):
    """``(name, how it ended)`` of the first test that does not pass, else None."""
    for name in tests:
        child.run(f"__import__('os').chdir({str(answer.folder())!r})")
        ended = (call or child.call)(name)
        if ended.status != RETURNED:
            return name, ended
    return None
