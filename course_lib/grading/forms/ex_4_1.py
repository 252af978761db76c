"""Exercise 4.1: six tools; is each idempotent, how bad is a second run, and why. (lesson 4)"""
from ...words import mark, tr
from ..exercise import Criterion
from ..report import Slip
from .form import Field, Row, column, form, judged

IDEMPOTENT = Field("idempotent", "Is it idempotent?", {
    "yes": "yes: ten runs leave the world as one run does",
    "no": "no: each further run changes the world again"})
RISK = Field("risk", "A resume runs it a second time. How bad is that?", {"high": mark("high"), "medium": mark("medium"), "low": mark("low")})
BECAUSE = Field("because", "Because …", {
    "same-return": "each call returns the same value",
    "adds-outside": "each run adds one more, in front of somebody else, and nobody can take it back",
    "overwrites": "it puts one value in another's place: the last run leaves what the first one left",
    "model-notices": "the model sees the second result and puts things right",
    "leaves-nothing": "it leaves nothing behind that could be there twice",
    "changes-something": "it changes something, and a change that is made twice is two changes",
    "looks-first": "it looks first, and acts only where there is something left to do",
    "adds-inside": "each run adds one more, to a record of our own that can be put right",
    "is-dangerous": "it is a dangerous tool, and dangerous tools must not run twice",
    "gone-stays-gone": "what the first run took away, the second can't take away again"})
TOOLS = [Row(name, says, (IDEMPOTENT, RISK, BECAUSE)) for name, says in {
    "read_file": "`read_file(path)` gives a file's text",
    "send_email": "`send_email(to, subject, body)` sends an e-mail",
    "ensure_ticket": "`ensure_ticket(title, body)` looks for a ticket of that title, gives it if there is one, and opens one if not",
    "append_log": "`append_log(line)` puts a line at the end of a log file of our own",
    "set_config": "`set_config(key, value)` sets a configuration key to a value",
    "delete_file": "`delete_file(path)` deletes a file"}.items()]
CAREFUL = Row("careful", "For one of the six, the verdict hangs on how carefully the tool is written", (
    Field("tool", "Which one?", {name: name for name in ("read_file", "send_email", "ensure_ticket", "append_log", "set_config", "delete_file")}),
    Field("how", "What does it hang on?", {
        "the-look": "what it looks for: what differs in a word only is not found, and made once more",
        "not-found": "what it does about \"not found\": as an error, the second run fails where the first went well",
        "speed": "how fast it is: a quick tool has come back before the process dies",
        "result": "what it returns: with an id in the result, the model can tell the two runs apart"})))
PAIRS = {("ensure_ticket", "the-look"), ("delete_file", "not-found")}
WHY = {
    ("because", "same-return"): ("return-value", "Suppose the second call returned something else, such as \"already there\". Would the world be another one for it?"),
    ("because", "model-notices"): ("model", "The first run's result died with the process. Which two results does the model have to compare?"),
    ("because", "is-dangerous"): ("danger", "Deleting is dangerous. When the file is gone and the tool runs once more, what more is lost?"),
    ("because", "changes-something"): ("effect", "A light switch that says \"on\" changes something. What do ten presses leave that one press does not?"),
    None: ("because", "Run this tool twice in your head and look at the world, not at the call. Does the reason speak of what you see there?")}


def careful(answer):
    """The tool and the detail go together."""
    tool, how = answer["careful"]["tool"], answer["careful"]["how"]
    if (tool, how) not in PAIRS:
        return Slip("careful", given=f"{tool}: {tr(CAREFUL.fields[1].options[how])}",
                    expected=tr("a tool of the six, and a detail of its code that decides whether a second run changes the world"),
                    question=tr("Think of two versions of {tool} that differ in that detail only. Do ten runs of them leave different worlds?", tool=tool))


EXERCISE = form(
    "4.1", "Rate six tools", rows=(*TOOLS, CAREFUL),
    task="An agent holds six tools. A call to one of them was under way when the process died, and the resume runs it once more. "
         "Say of each tool whether it is idempotent, how bad that second run is, and why. "
         "Then name a case in which the verdict hangs on how the tool is written.",
    criteria=(
        judged("idempotent", "All six are rated rightly as idempotent or not.", TOOLS, column("idempotent", {
                   "read_file": "yes", "send_email": "no", "ensure_ticket": "yes", "append_log": "no", "set_config": "yes", "delete_file": "yes"}),
               {("idempotent", "yes"): ("adds", "It runs ten times. Count what has been added to the world: one thing, or ten?"),
                ("idempotent", "no"): ("effect", "It runs ten times. Look at the world after the first run and after the tenth: what is different?")},
               "a verdict by what the world looks like after ten runs, beside what it looks like after one"),
        judged("because", "Each rating has a reason that speaks of the effect.", TOOLS, column("because", {
                   "read_file": "leaves-nothing", "send_email": "adds-outside", "ensure_ticket": "looks-first", "append_log": "adds-inside",
                   "set_config": "overwrites", "delete_file": {"gone-stays-gone", "looks-first"}}),
               WHY, "a reason that tells what a second run of this very tool does to the world"),
        # Risk is partly judgement. What is asked is that it goes with the reason; delete_file may be anything,
        # since a new file can have taken the name in the meantime.
        judged("risk", "Each risk goes with its reason.", TOOLS, column("risk", {
                   "read_file": "low", "send_email": "high", "ensure_ticket": {"low", "medium"}, "append_log": {"low", "medium"},
                   "set_config": {"low", "medium"}}),
               {"send_email": ("risk-too-low", "You say that nobody can take it back. What would a risk have to look like to be high?"),
                None: ("risk-too-high", "You have just said what a second run leaves behind. Who is hurt by that, and how much?")},
               "a risk that follows from the reason beside it"),
        Criterion("careful", "One case is named in which the verdict hangs on how the tool is written.", careful)),
    hints={
        "effect": ["Idempotent does not mean that nothing changes. It means that the second run changes nothing more.",
                   "IdempotencyLab in lesson 4 runs each of these tools up to ten times: compare the world after one run with the world after all.",
                   "Overwriting, deleting what is gone already, and looking before acting: these leave the same world each time."],
        "adds": ["Count things in the world, not calls: messages in the inbox, lines in the log.",
                 "What appends or sends adds one more each time. Two of the six tools do."],
        "return-value": ["A tool may answer differently each time and be idempotent; and one that says \"ok\" each time may send each time.",
                         "Look for the reason that names what is left in the world."],
        "model": ["The model sees what stands in messages. Of the first run, nothing does.",
                  "A reason must hold even if nobody notices the second run at all."],
        "danger": ["How dangerous one run is, and whether a second one adds to it, are two questions.",
                   "The approval gate asks the first question, idempotency the second."],
        "because": ["Six of the ten reasons fit one tool each. The other four fit none.",
                    "Begin with those that are sure: the one that only reads, the one that only overwrites. Then see what is left."],
        "risk-too-low": ["Two equal messages are in somebody's inbox. Who can undo that?",
                         "Not idempotent, and beyond recall: that is as high as it gets."],
        "risk-too-high": ["If the world is the same after the second run, there is little to be afraid of.",
                          "A doubled line in a log of our own is a nuisance: somebody counts wrong, and it can be put right."],
        "careful": ["A tool that reads is idempotent however it is written. One that looks first is only as good as its look.",
                    "Two of the six have such a detail: what one looks for before it opens something, and what the other does when there is nothing left to take away."]},
    solution={
        "read_file": {"idempotent": "yes", "risk": "low", "because": "leaves-nothing"},
        "send_email": {"idempotent": "no", "risk": "high", "because": "adds-outside"},
        "ensure_ticket": {"idempotent": "yes", "risk": "low", "because": "looks-first"},
        "append_log": {"idempotent": "no", "risk": "medium", "because": "adds-inside"},
        "set_config": {"idempotent": "yes", "risk": "low", "because": "overwrites"},
        "delete_file": {"idempotent": "yes", "risk": "medium", "because": "gone-stays-gone"},
        "careful": {"tool": "ensure_ticket", "how": "the-look"}},
    notes={"Which of the six would you rather redesign than guard with a ledger, and how?":
           "append_log can become \"make sure that this line is in the log\", with a number of its own in each line, so that a second run finds it. "
           "send_email can't be redesigned from here: the message is out as soon as it is sent. It needs the ledger, or a mail service that takes an idempotency key."})
