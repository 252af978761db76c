"""Exercise 5.1: rewind, resume, fork or Git; where a conversation may be cut, and what a cut does not undo. (lesson 5)"""
from ...agent import MAX_TOKENS, MODEL
from ...checkpoint import FILE, load_checkpoint
from ...model import RequestRefused
from ...scenarios import SALES_REPORT
from ...scenarios.experiment import Experiment
from ...words import mark
from .form import Field, Row, column, form, judged

MEANS = Field("means", "What does it take?", {"fork": "a fork", "git": mark("Git"), "resume": "a resume", "rewind": "a rewind"})
WHY = Field("why", "Because …", {
    "both": "two ways are to go on from the same scene, and neither is to disturb the other",
    "latest": "the decisions were right and only the process is gone: the newest scene is wanted",
    "undo-world": "it takes back what the tools have done since",
    "for-good": "it is about files that people share and keep, long after the run is over",
    "earlier": "the decisions since then are to be dropped, and the scene before them is on disk",
    "cheaper": "it takes the least room on disk"})
SITUATIONS = [Row(name, says, (MEANS, WHY)) for name, says in {
    "killed": "The container is killed in turn 30. Nothing was wrong with the work.",
    "wrong-turn": "In turn 15 the model took a wrong approach. It is turn 22 now, and you want to go on from 14.",
    "compare": "At turn 14 two designs are possible. You want to see both worked out, and keep both.",
    "last-month": "A colleague wants to undo a change that the agent made to a source file last month."}.items()]
AFTER = [
    Row("email", "You rewind to turn 14. In turn 17 an e-mail was sent.", (Field("stays", "The e-mail …", {
        "called-back": "is called back, as its turn is undone", "stays": "stays sent", "ledger": "stays sent only if the ledger has it"}),)),
    Row("ledger", "And its entry in the ledger", (Field("keep", "… should be", {
        "removed": "removed, so that the ledger fits the scene", "kept": "kept: it tells what happened, and that has happened"}),)),
    Row("branches", "You fork at turn 14, and both branches come to a `transfer`", (Field("times", "The money is moved …", {
        "once": "once: the ledger knows the transfer", "twice": "twice: each branch asks for it, under an id of its own"}),))]
CUTS = {
    1: "1. … the task", 2: "2. … the model asks for `read_notes`", 3: "3. … the result of `read_notes`", 4: "4. … the model asks for `count_words`",
    5: "5. … the result of `count_words`", 6: "6. … the model asks for `write_report`", 7: "7. … the result of `write_report`",
    8: "8. … the model's last word"}
SENDABLE = Field("sendable", "Can what is left be sent to the model as it is?", {"yes": mark("yes"), "no": mark("no")})
CUT_ROWS = [Row(f"cut-{n}", says, (SENDABLE,)) for n, says in CUTS.items()]


def sendable():
    """For each cut of a finished run, whether the API takes it; by asking the offline model, which has the API's rules."""
    experiment = Experiment(SALES_REPORT)
    experiment.run()
    messages = load_checkpoint(experiment.folder / FILE)["messages"]
    return {f"cut-{n}": "yes" if _is_taken(experiment, messages[:n]) else "no" for n in CUTS}


def _is_taken(experiment, messages):
    try:
        SALES_REPORT.client(experiment.folder).messages.create(model=MODEL, max_tokens=MAX_TOKENS, messages=messages)
    except RequestRefused:
        return False
    return True


MEANS_KEY = {"killed": "resume", "wrong-turn": "rewind", "compare": "fork", "last-month": "git"}
WHY_KEY = {"killed": "latest", "wrong-turn": "earlier", "compare": "both", "last-month": "for-good"}
CUT_KEY = sendable()
SLIPS = {
    ("killed", "rewind"): ("resume", "Which of the decisions of 30 turns do you want to be rid of?"),
    ("wrong-turn", "resume"): ("rewind", "A resume goes on from the newest scene. Is that one good?"),
    ("wrong-turn", "fork"): ("rewind", "Do you want to keep the seven turns that went wrong, and go on with them as well?"),
    ("compare", "rewind"): ("fork", "You rewind and try the second design. Where is the first one going on meanwhile?"),
    ("means", "git"): ("git", "Git has the files. Does it have messages, counters and the call under way?"),
    "last-month": ("git", "The run is long over and its checkpoints may be deleted. Who still has every state of that file, and for everybody?"),
    "means": ("resume", "Go through the four: the newest scene, an older one, two from the same one, or no scene at all. Which is asked for here?"),
    ("why", "undo-world"): ("world", "A checkpoint is a file about the loop. What could it do about an e-mail?"),
    ("why", "cheaper"): ("reason", "Suppose that disks cost nothing. Which would you take then, and what for?"),
    "why": ("reason", "Which scene is wanted here, and what is to become of the others?"),
    "stays": ("world", "Who would have to do something so that the e-mail is not sent?"),
    "keep": ("ledger", "Take the entry out. What does the ledger say now about a thing that is in somebody's inbox?"),
    "times": ("twice", "Each branch goes on by itself with a model of its own asking. What could tell one transfer from the other?"),
    ("sendable", "yes"): ("pairs", "What is the last message here, and what does the API want to see after it, or instead of it?"),
    ("sendable", "no"): ("pairs", "Each call so far has its result, and it is the model's turn. What could the API object to?")}
EXPECTED = {"means": "the means that gives the scene which this situation needs", "why": "a reason that speaks of the scene that is wanted",
            "stays": "what a rewind changes, and what it can't", "keep": "what a ledger is for", "times": "what the two branches know of each other",
            "sendable": "whether every call has its result and the last message is not the model's"}

EXERCISE = form(
    "5.1", "Rewind, resume, fork or Git", rows=(*SITUATIONS, *AFTER, *CUT_ROWS),
    task="Four situations: say what each takes, and why. Then what a rewind and a fork leave standing. "
         "Last, the conversation of a finished sales report, eight messages long: it is cut after each of them in turn.",
    criteria=(
        judged("means", "Each situation has the means that fits it.", SITUATIONS, column("means", MEANS_KEY), SLIPS, EXPECTED),
        judged("why", "Each choice has its reason.", SITUATIONS, column("why", WHY_KEY), SLIPS, EXPECTED),
        judged("world", "It is right what a rewind changes, in the world and in the ledger.", AFTER,
               {("email", "stays"): {"stays"}, ("ledger", "keep"): {"kept"}}, SLIPS, EXPECTED),
        judged("branches", "It is right how often a thing is done across a fork.", AFTER, {("branches", "times"): {"twice"}}, SLIPS, EXPECTED),
        judged("cuts", "It is right which cuts can be sent.", CUT_ROWS, column("sendable", CUT_KEY), SLIPS, EXPECTED)),
    hints={
        "resume": ["A resume takes the newest scene. A rewind takes an older one and drops what came after it.",
                   "If the work was good and only the process died, nothing is to be dropped."],
        "rewind": ["The newest scene has the wrong approach in it. So it must be an older one.",
                   "One line of work is to go on, from 14. That is a rewind."],
        "fork": ["A rewind leaves one line of work. Here there are to be two.",
                 "A fork gives each a folder and a ledger of its own."],
        "git": ["Checkpoints are for minutes and for this run. Git is for good and for everybody.",
                "Git has no conversation; a checkpoint has no history of your source files."],
        "reason": ["For each means one of the reasons says which scene it takes.", "The newest; an older one; one scene twice; no scene, but files."],
        "world": ["messages, counters and the pending call go back. E-mails, tickets and files do not.",
                  "A rewind is about what the model knows and decides next. Nobody outside hears of it."],
        "ledger": ["The ledger is a record of what happened. It only grows.",
                   "An entry that is missing makes a done thing look undone, and that is how things are done twice."],
        "twice": ["A fork begins with an empty ledger of its own.", "Two calls with two ids are two orders. Ask a person first, or let one of the branches only pretend."],
        "pairs": ["Two rules are enough: each tool_use is answered in the next message, and the last message is not the model's.",
                  "Go through the eight: after a result it is the model's turn; after a call something is missing; after the last word nothing is asked."]},
    solution={name: {"means": MEANS_KEY[name], "why": WHY_KEY[name]} for name in MEANS_KEY}
    | {"email": {"stays": "stays"}, "ledger": {"keep": "kept"}, "branches": {"times": "twice"}} | {name: {"sendable": value} for name, value in CUT_KEY.items()},
    notes={"After a rewind to turn 14, what would you tell the model about the e-mail of turn 17?":
           "That it was sent, to whom and what it said, since for the model it has never happened. "
           "Otherwise it may decide to send it, under a new id that no ledger entry fits, and it goes out twice."})
