"""Exercise 6.2: the ledger that was written before there was anything to write. (lesson 6)"""
import json
from functools import partial

from ...words import mark, tr
from ..driver import RAISED, RETURNED
from ..exercise import Question
from .answer import TEXTS, Slipped, because, code_exercise, criterion, runs, shown, slip
from .bookkeeping import LEDGER_HINTS, a_call, a_ticket, after_success, file, ledger, recorded, runs_once, yes
from .fakes import Tools
from .proofs import RIGHT, check_proof, functions

POLICY = "support-desk/create_ticket/lesson-6"
GIVEN = functions((TEXTS / "ex_6_2_starter.py").read_text(encoding="utf-8"), "crash_point", "load_effects", "save_effect", "as_text")
# Wrong is a version in the run that dies, and in no other: who crashes it for show and looks at another run sees nothing.
PLAYED = GIVEN + '''

def run_tool_uses(content, tools, *, effects_path, approve=None):
    file = Path(effects_path)
    return _played("run_tool_uses", {"tool": lambda name, input: tools[name](input), "crash_point": lambda: crash_point("between"),
                                     "record": lambda id, entry: save_effect(effects_path, id, entry), "text": lambda value: as_text(value),
                                     "read": lambda: file.read_text(encoding="utf-8") if file.exists() else None,
                                     "write": lambda text: file.unlink() if text is None else file.write_text(text, encoding="utf-8") and None},
                   content, os.environ.get("CRASH_AFTER") == "between")
'''
WRONG = {mark("writes the entry before it runs the tool, in the run that dies"): ("record", "crash", "run"),
         mark("writes the entry before it comes to the crash point"): ("run", "record", "crash"),
         mark("has its entry in the file when it dies, though nobody has called save_effect"): ("run", "write", "crash")}
OTHERS = {None: ("run", "crash", "record"), RIGHT: ("run", "write", "undo", "crash", "record")}


def version(crashed, fault):
    """What a version does that has this fault, which is its order; see check_proof. crashed: gets what a run died of that nobody has gone on with."""
    def run_tool_uses(content, dies):
        results = []
        for block in content:
            if block["type"] == "tool_use":
                id, output = block.get("id"), None
                for step in OTHERS.get(fault, fault) if dies else OTHERS[None]:
                    entry = {"name": block["name"], "result": output, "at": "2026-01-05T09:00:00.000Z"}
                    if step == "run":
                        output = yield "tool", block["name"], block["input"]
                    elif step == "record":
                        yield "record", id, entry
                    elif step == "write":
                        before = yield "read",
                        yield "write", json.dumps({id: entry})
                    elif step == "undo":
                        yield "write", before
                    else:
                        crashed.append(dies)
                        yield "crash_point",
                        crashed.pop()
                results.append({"type": "tool_result", "tool_use_id": id, "content": (yield "text", output)})
        return results

    return {"run_tool_uses": run_tool_uses}
BUG = Question("bug", mark("What is wrong in the `run_tool_uses` of that day?"), {
    "a": mark("`save_effect` does not use a temp file."),
    "b": mark("The entry is written before the tool has returned, so there is no result to write yet."),
    "c": mark("It does not catch the errors of the tool."),
    "d": mark("The ledger is written once a call, where once a response would do.")})
CONSEQUENCE = Question("consequence", mark("Killed between the two lines, what does a resume make of it?"), {
    "a": mark("It runs the call a second time, since the ledger can't be trusted."),
    "b": mark("It refuses the ledger, since null is no result."),
    "c": mark("It finds the entry and takes a call for done that never ran."),
    "d": mark("Nothing: the model asks for the call again.")})


@criterion(runs_once.code, runs_once.says)
def runs_once_undisturbed(answer):
    answer.process.run("import os\n_left = os.environ.get('CRASH_AFTER')")
    if left := answer.process.value("_left").value:
        slip("left-set", tr("when the cell has run, CRASH_AFTER is set to {label}", label=shown(left)), tr("the environment is as it was, whatever your test has set in it"),
             tr("Your cell sets CRASH_AFTER, in a test that it runs perhaps, and leaves it set. From then on run_tool_uses dies of it each time, where nobody has asked for a crash."))
    if slipped := runs_once.check(answer):
        raise Slipped(slipped)


@criterion("crash_point", mark("With CRASH_AFTER=between it dies after the tool and before the entry."))
def crash_between(answer):
    folder, call, tools = answer.folder(), a_call(answer), Tools({"create_ticket": a_ticket(answer)})
    with answer.child() as child:
        child.run("import os\nos.environ['CRASH_AFTER'] = 'between'")
        ended = child.call("run_tool_uses", [call], tools.fakes(), effects_path=file(folder), approve=yes)
    if not (ended.status == RAISED and "SimulatedCrash" in (ended.error, *ended.kinds)):
        slip("no-crash", answer.words(ended, "run_tool_uses") if ended.status != "returned" else tr("run_tool_uses came back as if nothing were"),
             tr("it ends with SimulatedCrash, raised by crash_point(\"between\")"))
    if not tools.ran or call["id"] in ledger(folder):
        slip("crash-elsewhere", tr("when it died, create_ticket had run {n} times, and the ledger had {entries} entries", n=len(tools.ran), entries=len(ledger(folder))),
             tr("the tool has run and its entry is not there yet"))
    elsewhere, call = answer.word(), a_call(answer)
    with answer.child() as child:
        child.run(f"import os\nos.environ['CRASH_AFTER'] = {elsewhere!r}")
        ended = child.call("run_tool_uses", [call], Tools({"create_ticket": a_ticket(answer)}).fakes(), effects_path=file(answer.folder()), approve=yes)
    if ended.status != RETURNED:
        slip("other-label", tr("with CRASH_AFTER={label}: {how}", label=elsewhere, how=answer.words(ended, "run_tool_uses")),
             tr("it dies at the point that CRASH_AFTER names, and at no other; there is none called {label} here", label=elsewhere))


@criterion("proof", mark("Your test crashes it between the two steps; it passes on the right order and fails on the wrong one."))
def proof(answer):
    crashed = []

    def check_crash():
        if not crashed:
            slip("proof-without-crash", tr("the proof passes, and crash_point(\"between\") raised nothing in run_tool_uses"), tr("SimulatedCrash comes in the middle of the proof"),
                 tr("The incident began with a crash between two lines. A proof in which nothing crashes does not show what a crash there leaves on disk."))

    check_proof(answer, PLAYED, partial(version, crashed), WRONG, check_crash)


EXERCISE = code_exercise(
    "6.2", mark("The ledger that was written too early"),
    (runs("run_tool_uses"),
     because(BUG, mark("You name the bug."), "b", {
         "a": mark("Look at save_effect: what does it write to first, and what does os.replace do?"),
         "c": mark("Suppose the tool never fails. Is the incident impossible then?"),
         "d": mark("Written once a response, what would the ledger know after a crash in the middle of it?")}),
     because(CONSEQUENCE, mark("You say what follows from it at a resume."), "c", {
         "a": mark("What does reconcile do first, and what does it find?"),
         "b": mark("reconcile looks for the id. Does it look at the result as well?"),
         "d": mark("The resume answers the open call with what the ledger says. Which reason would the model have to ask again?")}),
     runs_once_undisturbed, after_success(POLICY), recorded(POLICY), crash_between, proof),
    {
        **LEDGER_HINTS,
        "because-bug": [mark("Read the two lines in the loop aloud. At the first of them, what does anybody know about the result?"),
                        mark("The incident: an entry is there and the file is not. In which order can that come about?")],
        "because-consequence": [mark("Be the resume: pendingToolUse names the call. You look into the ledger. What is there?"),
                                mark("The first branch of reconcile is the ledger hit.")],
        "left-set": [mark("Who sets CRASH_AFTER in your cell, and who takes it away again?"), mark("try: the run that dies; finally: del os.environ[\"CRASH_AFTER\"]")],
        "no-crash": [mark("crash_point is given; what is missing is the one place that calls it."), mark("crash_point(\"between\") on a line of its own, between the tool and save_effect.")],
        "crash-elsewhere": [mark("Between means: after the tool has returned and before save_effect."), mark("Three lines in the loop: the tool, crash_point(\"between\"), save_effect.")],
        "other-label": [mark("crash_point is given, and was right as it was."), mark("It compares: os.environ.get(\"CRASH_AFTER\") == label. Not whether there is one, but whether it is this one.")],
        "no-proof": [mark("The last function of the cell is yours to write; its name begins with test_."),
                     mark("Set os.environ[\"CRASH_AFTER\"], call run_tool_uses in a try with except SimulatedCrash, then look into load_effects.")],
        "proof-without-crash": [mark("What does your test do to make the process die between the two steps?"),
                                mark("Set os.environ[\"CRASH_AFTER\"] to \"between\", call run_tool_uses in a try with except SimulatedCrash, then look into load_effects.")],
        "proof-fails": [mark("Run the test yourself and read which assert fails."),
                        mark("A proof may rely only on what the functions promise: what is in the ledger, not how their code looks."),
                        mark("Once the crash is over, does your test put the environment back, so that nothing else dies of it?"),
                        mark("Does it go by something that an earlier run of it has left, such as a file in a place of its own?")],
        "proof-blind": [mark("What does the wrong order leave behind that the right one does not?"),
                        mark("Crash and look are one story: the ledger to look at is the one on disk that the run which died has left, not a note of which function was called."),
                        mark("After the crash: assert that load_effects has no entry under the call's id.")],
    },
    questions=(BUG, CONSEQUENCE))
