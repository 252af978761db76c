"""Exercise 6.1: what each moment of a kill leaves, and which way the resume goes. The key comes from running it. (lesson 6)"""
from ...scenarios import forecast
from ...words import mark
from .drill import is_answered, seen
from .form import Field, Row, column, form, judged

CODE = "sales-report/write_report/lesson-6"
LABELS = {"1": "after-save-a", "2": "after-tool", "2b": "after-effect-write", "3": "after-save-b"}
BRANCHES = {
    "rerun": "no entry in the ledger, so the tool is run again",
    "is-error": "no entry in the ledger, so the model is told that the state is unknown",
    "reuse": "an entry in the ledger, so its result is reused and nothing runs",
    "nothing": "nothing is pending: it gives `None`, and the model is asked with `messages` as they are"}
NAMES = {forecast.READ_ONLY: "rerun", forecast.RERUN: "rerun", forecast.UNKNOWN: "is-error", forecast.HIT: "reuse", forecast.NOTHING: "nothing"}
FIELDS = (
    Field("pending", "`checkpoint.json`: `pendingToolUse` holds …", {
        "this-call": "this turn's call", "null": "`null`", "last-call": "the call of the turn before"}),
    Field("result", "`checkpoint.json`: is this turn's `tool_result` in `messages`?", {"yes": mark("yes"), "no": mark("no")}),
    Field("ledger", "`effects.json`: what does it hold for this call?", {
        "placeholder": "an entry whose result is `null`, filled in later", "nothing": mark("nothing"), "entry": "an entry with the tool's result"}),
    Field("reading", "`--resume`, if the tool only reads: `reconcile` finds …", BRANCHES),
    Field("writing", "`--resume`, if it is `write_report`: `reconcile` finds …", BRANCHES))
SAYS = {"1": "① save A is on disk, the tool has not started", "2": "② the tool has done its work, the ledger does not know",
        "2b": "②' the ledger knows, save B is missing", "3": "③ save B is on disk"}
ROWS = [Row(mark, says, FIELDS) for mark, says in SAYS.items()]
SAME = Row("same", "① and ② side by side, the tool being `write_report`", (
    Field("disk", "Are the two files the same?", {
        "yes": "yes, both of them", "ledger": "no, `effects.json` differs: at ② the tool has run", "checkpoint": "no, `checkpoint.json` differs"}),
    Field("recovery", "Does the resume go the same way?", {
        "yes": mark("yes"), "no": "no: at ① it runs the tool, at ② it knows better"}),
    Field("tells", "What does that tell?", {
        "not-run": "that at ② the tool has not really run, since nothing shows it",
        "look": "that `reconcile` looks for report.txt, and finds it at ② only",
        "unknown": "that the code can't tell them apart: at ② the report is there, and counts as unknown",
        "ledger-no-use": "that the ledger is of no use, and might as well be written at save B"}),
    Field("so", "So the ledger is written the instant a tool returns …", {
        "close": "and with that no kill can come between effect and entry any more",
        "shrink": "to make the stretch in which nobody knows as short as it can be",
        "early": "or better still a moment before the tool starts, so that no effect is without its entry",
        "model": "so that the model gets its result sooner"})))


def code_of(mark, turn=3):
    """The scenario code of a kill at that moment; in turn 3 the tool is write_report, in turn 2 one that only reads."""
    return f"{CODE}/{LABELS[mark]}:{turn}"


def observed(mark):
    """One row of the key, from two real kills and their resumes."""
    writing, reading = seen(code_of(mark)), seen(code_of(mark, turn=2))
    return {"pending": "this-call" if writing.scene["pendingToolUse"] else "null", "result": "yes" if is_answered(writing.scene) else "no",
            "ledger": "entry" if writing.in_ledger else "nothing", "reading": NAMES[reading.branch], "writing": NAMES[writing.branch]}


KEY = {mark: observed(mark) for mark in LABELS}
KEY["same"] = {"disk": "yes" if seen(code_of("1")).files == seen(code_of("2")).files else "no", "recovery": "yes" if KEY["1"]["writing"] == KEY["2"]["writing"] else "no",
               "tells": "unknown", "so": "shrink"}
EXPECTED = {
    "pending": "what the newest save says about the call under way", "result": "what stood in messages when the newest save was written",
    "ledger": "what has been written to the ledger by then", "reading": "the first branch of reconcile that fits what both files hold",
    "writing": "the first branch of reconcile that fits what both files hold",
    "disk": "what a comparison of the files byte by byte says", "recovery": "what follows for a program that sees only these files",
    "tells": "what follows from it for a tool with side effects", "so": "what an early entry can do, and what it can't"}
SLIPS = {
    ("pending", "null"): ("points", "Save A is what names the call. Has the turn's save B taken it back by this moment?"),
    ("pending", "this-call"): ("points", "Which save was the last one, and what does that save put into pendingToolUse?"),
    ("pending", "last-call"): ("points", "The last turn was closed by its save B. What did that leave in pendingToolUse?"),
    "result": ("points", "A result comes into the file with a save. Which save is the first that has it, and has it happened?"),
    ("ledger", "placeholder"): ("record-after", "What result could be written down before there is one? And what would a resume make of that entry?"),
    ("ledger", "entry"): ("ledger-late", "Who writes the entry, and when? Had that been done at the instant of the kill?"),
    ("ledger", "nothing"): ("ledger-kept", "The entry was written the moment the tool returned. What has removed it since?"),
    ("reading", "nothing"): ("branch", "Is pendingToolUse null at this moment?"), ("writing", "nothing"): ("branch", "Is pendingToolUse null at this moment?"),
    ("reading", "reuse"): ("branch", "A reuse needs an entry. Is there one for this call?"), ("writing", "reuse"): ("branch", "A reuse needs an entry. Is there one for this call?"),
    ("reading", "is-error"): ("read-only", "What harm would it do to run a tool once more that only reads?"),
    ("writing", "rerun"): ("unknown", "If it has run already, what would a second run do? And do the files say that it has not?"),
    ("reading", "rerun"): ("branch", "Is there a call left to settle, and does the ledger have it?"),
    ("writing", "is-error"): ("branch", "Is there a call left to settle, and does the ledger have it?"),
    "same": ("twins", "Put the two rows side by side, field by field. Where do the files differ?"),
    ("same", "look"): ("twins", "reconcile gets a checkpoint, the tools and the ledger. Where in these three is report.txt?"),
    ("same", "not-run"): ("twins", "report.txt is there at ②. Does a thing not happen because nobody wrote it down?"),
    ("same", "ledger-no-use"): ("window", "At ②' the entry settles everything. How many kills would find one if it came only with save B?"),
    ("same", "close"): ("window", "The effect is one step, the entry another. Can anything make two steps one instant?"),
    ("same", "early"): ("record-after", "Kill it between that entry and the tool. What does the ledger say, and what is true?"),
    ("same", "model"): ("window", "The model gets its result from messages. What is the ledger asked, and by whom?")}


def moment(mark, says):
    return judged(f"moment_{mark}", says, ROWS, {(mark, field): {good} for field, good in KEY[mark].items()}, SLIPS, EXPECTED, scenario=code_of)


EXERCISE = form(
    "6.1", "The moments of a kill", rows=(*ROWS, SAME),
    task="The process is killed within one turn of the sales report. For each moment say what `checkpoint.json` and `effects.json` hold, "
         "and which way `reconcile` goes when the run is resumed, once for a tool that only reads and once for `write_report`, which changes something. "
         "Then compare ① with ②.",
    criteria=(
        moment("1", "① is right: files, and both ways of the resume."),
        moment("2", "② is right: files, and both ways of the resume."),
        moment("2b", "②' is right: files, and both ways of the resume."),
        moment("3", "③ is right: files, and both ways of the resume."),
        judged("twins", "It is said that ① and ② can't be told apart, and what follows.", [SAME],
               column("disk", {"same": KEY["same"]["disk"]}) | column("recovery", {"same": KEY["same"]["recovery"]}) | column("tells", {"same": "unknown"}),
               SLIPS, EXPECTED, scenario=lambda row: code_of("2")),
        judged("window", "It is said why the ledger is written the instant a tool returns.", [SAME], column("so", {"same": "shrink"}), SLIPS, EXPECTED,
               scenario=lambda row: code_of("2"))),
    hints={
        "points": ["Save A: the call is in pendingToolUse, its result does not exist yet. Save B: pendingToolUse is null, the result is in messages.",
                   "Between the two nobody writes checkpoint.json. So at every moment up to save B it is what save A left."],
        "ledger-late": ["The order is: the tool returns, then its entry is written, then save B.",
                        "At ② the kill comes between the first and the second of these."],
        "ledger-kept": ["The ledger only grows. Neither save B nor a resume takes an entry out.",
                        "Look at effects.json at ②' and at ③ in CrashLab."],
        "record-after": ["Run first, record after: an entry means \"this has happened, and this was its result\".",
                         "An entry made early is a promise that nobody can tell from the truth. Exercise 6.2 is about that."],
        "branch": ["Read `reconcile` from the top: nothing pending; in the ledger; only reads; anything else.",
                   "The first of the four that fits is the one. Your own three answers about the files decide it."],
        "read-only": ["A tool that only reads may run again at any time. Nothing on record is needed for that.",
                      "Only where a second run could hurt does the program rather say that it does not know."],
        "unknown": ["A missing entry means \"not recorded\". It does not mean \"not done\".",
                    "The tool changes something and nothing says whether it ran: the one honest answer is that the state is unknown."],
        "twins": ["In CrashLab, kill `write_report` at ① and look at both files; reset, and do the same at ②.",
                  "They are the same byte for byte. The only difference is in the world, where the program does not look."],
        "window": ["Before the entry: unknown. After the entry: known. What remains is the stretch between effect and entry.",
                   "It can be made short, and it can't be made nothing."]},
    solution=KEY,
    notes={"Somebody says: \"the ledger has no entry, so the tool has not run.\" What do you answer?":
           "A missing entry says that nothing was recorded. The tool may have run and the process may have died before the entry, which is ②; "
           "on disk that looks exactly as if the tool had never started, which is ①. So with a missing entry a tool that changes something counts as unknown, and the model is told so."})
