"""Exercise 4.2: an effects ledger for a run_tool_uses that has none. (lesson 4)"""
from ...words import mark, tr
from ..driver import RAISED
from .answer import TEXTS, code_exercise, criterion, outcome, put, runs, shown, slip
from .crashes import SAVE_HINTS, check_atomic
from .fakes import Tools, tells
from .proofs import RIGHT, check_proof, functions
from .bookkeeping import LEDGER_HINTS, a_call, a_ticket, after_success, file, ledger, recorded, run, runs_once

POLICY = "support-desk/create_ticket/lesson-4"
REPLAY = f"{POLICY}/after-effect-write:2"
TORN = f"{POLICY}/mid-effect-write:1"
SOLUTION = (TEXTS / "ex_4_2_solution.py").read_text(encoding="utf-8")
PLAYED = functions(SOLUTION, "load_effects", "save_effects", "as_text") + '''

_save_for_good = save_effects


def save_effects(path, effects):
    return _played("save_effects", {"write": lambda: _save_for_good(path, effects)})


def run_tool_uses(content, tools, *, effects_path, approve=None):
    return _played("run_tool_uses", {"load": lambda: load_effects(effects_path), "save": lambda effects: save_effects(effects_path, effects),
                                     "tool": lambda name, input: tools[name](input), "text": lambda value: as_text(value)}, content)
'''
WRONG = {mark("has no ledger at all"): "no-ledger",
         mark("gives the stored result and runs the tool all the same"): "runs-anyway",
         mark("calls save_effects, which writes nothing to disk"): "saves-nothing"}


def version(fault):
    """What a version does that has this fault; see check_proof. The other right way loads the ledger once more before it saves."""
    def save_effects():
        if fault != "saves-nothing":
            yield "write",

    def run_tool_uses(content):
        results = []
        for block in content:
            if block["type"] == "tool_use":
                id, effects = block["id"], {} if fault == "no-ledger" else (yield "load",)
                known = id in effects
                if not known or fault == "runs-anyway":
                    output = yield "tool", block["name"], block["input"]
                    effects = {id: {"name": block["name"], "result": output, "at": "2026-01-05T09:00:00.000Z"}, **((yield "load",) if fault is RIGHT else effects)}
                if not known and fault != "no-ledger":
                    yield "save", effects
                results.append({"type": "tool_result", "tool_use_id": id, "content": (yield "text", effects[id]["result"])})
        return results

    return {"save_effects": save_effects, "run_tool_uses": run_tool_uses}


@criterion("no_file", mark("load_effects gives an empty dict where there is no file."))
def no_file(answer):
    ended = answer.process.call("load_effects", file(answer.folder()))
    stumbled = ended.status == RAISED and ended.error != "SystemExit"
    if stumbled or answer.got(ended, "load_effects") != {}:
        slip("no-file", outcome(answer, ended, "load_effects"), "{}", tr("A first run has no effects.json. It asks the ledger before its first tool call and gets no dict to look into."))


@criterion("round_trip", mark("What save_effects wrote, load_effects gives back."))
def round_trip(answer):
    folder = answer.folder()
    effects = {answer.id(): {"name": "create_ticket", "result": {"id": "T-1", "title": "Störung 🚧"}, "at": "2026-01-05T09:00:00.000Z"},
               answer.id(): {"name": "read_file", "result": None, "at": "2026-01-05T09:00:01.000Z"}}
    answer.call("save_effects", file(folder), effects)
    with answer.child() as child:
        given = answer.got(child.call("load_effects", file(folder)), "load_effects")
    if given != effects:
        slip("round-trip", shown(given), shown(effects), tr("One process saved two entries, the next one loaded them, and they are not the same."))


@criterion("atomic", mark("save_effects writes a temp file and renames it: a kill at any instant leaves the old ledger or the new one."))
def atomic(answer):
    entry = {"name": "create_ticket", "result": answer.word() * 20, "at": "2026-01-05T09:00:00.000Z"}
    old = {answer.id(): entry}
    check_atomic(answer, "save_effects", file, old, {**old, answer.id(): entry}, lambda path, effects: (path, effects), TORN)


@criterion("replay", mark("A call that the ledger knows is answered from it, and its tool does not run."))
def replay(answer):
    folder, call, ticket, asked = answer.folder(), a_call(answer), a_ticket(answer), []
    tools = Tools({"create_ticket": ticket})
    run(answer, folder, [call], tools)
    tools.results["create_ticket"] = {"id": "T-1000", "title": "the second one"}
    with answer.child() as child:  # a new process, as after a crash: nothing is remembered but what is on disk
        again = run(answer, folder, [call], tools, REPLAY, lambda *_, **__: asked.append(1) or True, child)[0]
    if tools.times("create_ticket") > 1:
        slip("ran-again", tr("create_ticket ran {n} times for one tool_use_id", n=tools.times("create_ticket")), tr("it runs once"),
             tr("The call ran and was recorded; the process was killed and resumed, and run_tool_uses got the same call again. The customer has two tickets now."), REPLAY)
    if not tells(again.get("content"), ticket) or again.get("is_error"):
        slip("other-replay", shown(again), tr("content is the stored result: {value}", value=shown(ticket)),
             tr("The resume found the entry, and told the model something else than what the tool had given."), REPLAY)
    if asked:
        slip("asked-again", tr("approve was asked about a call that the ledger has"), tr("the ledger is looked into first; nobody is asked about what has happened"),
             tr("The ticket has been open since before the crash, and a person is asked whether it may be opened."), REPLAY)
    folder, call = answer.folder(), a_call(answer)
    put(file(folder), {call["id"]: {"name": "create_ticket", "result": None, "at": "2026-01-05T09:00:00.000Z"}}).close()
    tools = Tools({"create_ticket": ticket})
    run(answer, folder, [call], tools, REPLAY)
    if tools.ran:
        slip("null-result", tr("the ledger has this id with the result null, and create_ticket ran again"), tr("an entry is a hit whatever its result is"),
             tr("A tool may well return nothing. Its entry says that it happened all the same."))


@criterion("by_id", mark("Another call runs, even with the same name and input: two transfers stay two."))
def by_id(answer):
    folder, first, ticket = answer.folder(), a_call(answer), a_ticket(answer)
    second = {**first, "id": answer.id()}
    tools = Tools({"create_ticket": ticket})
    run(answer, folder, [first], tools)
    run(answer, folder, [second], tools)
    if tools.times("create_ticket") != 2:
        slip("not-by-id", tr("two calls with ids of their own, and create_ticket ran {n} times", n=tools.times("create_ticket")), tr("each id is a call of its own, so it runs twice"),
             tr("The model asked for the same thing a second time, on purpose and under a new id. It was told that it is done, and it was not."))
    lost = [id for id in (first["id"], second["id"]) if id not in ledger(folder)]
    if lost:
        slip("entry-lost", tr("after the second call the ledger lacks {ids}", ids=", ".join(lost)), tr("each entry stays: the ledger only grows"),
             tr("The second call's entry took the place of the first one's. Killed now, a resume would run the first call again."))


@criterion("proof", mark("Your test, with a fake that counts, passes on a right version and fails on a wrong one."))
def proof(answer):
    check_proof(answer, PLAYED, version, WRONG)


EXERCISE = code_exercise(
    "4.2", mark("An effects ledger for run_tool_uses"),
    (runs("load_effects", "save_effects", "run_tool_uses"), no_file, round_trip, atomic, runs_once, recorded(POLICY), after_success(POLICY), replay, by_id, proof),
    {
        **LEDGER_HINTS,
        **SAVE_HINTS,
        "no-file": [mark("The very first run of a task has no ledger yet. Is that an error?"),
                    mark("open raises FileNotFoundError. Catch that one, and only that one."), mark("except FileNotFoundError: return {}")],
        "round-trip": [mark("Save two entries, load them, and compare what you get with what you gave."),
                       mark("json.dump and json.load are a pair; so are the encodings that both files are opened with.")],
        "not-json": [mark("Open effects.json in an editor. What does it look like, and what would another program make of it?"), mark("json.dump writes it, json.load reads it.")],
        "nothing-saved": [mark("Look into the folder after the call: which file is there?"), mark("The temp file has to get the name of the real one at the end: os.replace(temp, path).")],
        "in-place": [mark("From which instant to which is the ledger on disk neither the old one nor the new one?"),
                     mark("Write everything into a second file beside it first. As long as that one grows, the old one is whole."),
                     mark("Then os.replace(temp, path): the name changes hands in one step that no kill can halve.")],
        "gap": [mark("For a short time there is no ledger at all. What does a resume make of that?"),
                mark("os.replace takes the old file's place by itself. Nothing has to be removed before.")],
        "ran-again": [mark("The same id comes a second time. Who could know that it has been done?"), mark("Look for block[\"id\"] in the loaded ledger before you call the tool."),
                      mark("if block[\"id\"] in effects: append the stored result, then continue. The tool stands below that line.")],
        "other-replay": [mark("Compare the tool_result of the first run with that of the replay."), mark("The result is a part of the entry: effects[block[\"id\"]][\"result\"]")],
        "asked-again": [mark("Two gates, one order: \"has it happened?\" comes before \"may it happen?\"."), mark("Move the look into the ledger above the question to approve.")],
        "null-result": [mark("What is in the dict when a tool returned nothing, and what does your condition make of it?"), mark("Ask whether the id is in the ledger, not whether its result is something.")],
        "not-by-id": [mark("Two calls look alike, but the model made two of them. What tells them apart?"), mark("The key of the ledger is block[\"id\"], not the name and not the input.")],
        "entry-lost": [mark("What was in the file before the second call, and what did you write over it?"), mark("Load the ledger, add to it, and save all of it.")],
        "no-proof": [mark("The last function of the cell is yours to write; its name begins with test_."),
                     mark("Make a create_ticket that appends to a list. Call run_tool_uses twice with one block, and assert how long the list is.")],
        "proof-fails": [mark("Run the test yourself and read which assert fails."), mark("A proof that fails on a right version asserts something that was never promised, or needs something that is not there, such as a parameter."),
                        mark("Does it go by something that an earlier run of it has left, such as a file in a place of its own?")],
        "proof-blind": [mark("That nothing raised proves little. What would be different in the world if the tool had run twice?"),
                        mark("Count the calls of your fake tool, and assert that it is one after the second run_tool_uses.")],
    })
