"""Exercise 1.1: six things sorted into memory, execution state and output; which of them survive a kill. (lesson 1)"""
from .form import Field, Row, column, form, judged

KIND = Field("kind", "What is it?", {
    "output": "disk output: made for people to use", "state": "execution state: the loop's own scene", "memory": "memory: meant for the model to read again"})
SURVIVES = Field("survives", "Does it survive the kill?", {"yes": "yes, a new process finds it", "no": "no, it goes with the process"})
ROWS = [Row(name, says, (KIND, SURVIVES)) for name, says in {
    "summary": "a summary that a tool has written into `NOTES.md`",
    "messages": "`messages`, the conversation so far",
    "report": "`report.md`, written by a tool",
    "turns": "`turns`, the counter of the loop",
    "analysis": "an analysis in the model's last answer, which it means to put into `NOTES.md` next",
    "call": "a `tool_use` block: the tool is named, its result not recorded"}.items()]
MEMORY = Row("memory", "Two of the six are memory, and one of the two is lost", (
    Field("why", "What makes the difference?", {
        "meant": "nothing does: what is meant to be remembered is remembered",
        "size": "how long it is: short notes survive",
        "written": "whether a tool has written it to disk yet, whatever it is meant for",
        "model": "whether the model still knows it: the API keeps the conversation"}),))
KIND_KEY = {"summary": "memory", "messages": "state", "report": "output", "turns": "state", "analysis": "memory", "call": "state"}
SURVIVES_KEY = {"summary": "yes", "messages": "no", "report": "yes", "turns": "no", "analysis": "no", "call": "no"}
SLIPS = {
    ("summary", "output"): ("purpose", "Both are files. Who is going to read this one?"),
    ("report", "memory"): ("purpose", "Both are files. Who is going to read this one?"),
    ("analysis", "state"): ("purpose", "Ask what it is for, not where it lies at the moment. What does the model want to do with it?"),
    ("analysis", "output"): ("purpose", "Ask what it is for. What does the model want to do with it?"),
    ("messages", "memory"): ("scene", "The model reads it, true. But who holds it, and what would the loop be without it?"),
    "kind": ("scene", "Who needs it to make the next step: the model, a person, or the loop?"),
    ("messages", "yes"): ("api", "Each request brings the whole conversation along. Where would it be if the API kept it?"),
    ("analysis", "yes"): ("not-yet", "Which file is it in?"),
    ("survives", "yes"): ("variables", "It is a variable of a process. What becomes of those?"),
    ("survives", "no"): ("files", "It is in a file. Does a file care which process wrote it?"),
    ("memory", "meant"): ("not-yet", "The notes of two shops are meant to be kept. One is in NOTES.md, the other in an answer. Which will a new process read?"),
    ("memory", "size"): ("not-yet", "A very short note that nobody has written down: where is it after the kill?"),
    ("memory", "model"): ("api", "Each request brings the whole conversation along. Where would it be if the API kept it?")}

EXERCISE = form(
    "1.1", "What is it, and does it survive?", rows=(*ROWS, MEMORY),
    task="An agent with forty turns to go is killed in the middle of turn 23. Nothing but its tools has written to disk. "
         "Sort six things: what each is, and whether a new process finds it.",
    criteria=(
        judged("kinds", "All six are sorted by what they are for.", ROWS, column("kind", KIND_KEY), SLIPS, "what the thing is for, wherever it lies"),
        judged("survival", "It is right for each whether it survives.", ROWS, column("survives", SURVIVES_KEY), SLIPS,
               "whether a process that starts now can find it"),
        judged("memory", "Being memory and being on disk are told apart.", [MEMORY], {("memory", "why"): {"written"}}, SLIPS,
               "the difference between the two things called memory")),
    hints={
        "purpose": ["Memory is for the model to read again, output is for people to use. Either may be a file.",
                    "A thing can be meant as memory before it has been written anywhere."],
        "scene": ["Execution state is what the loop needs for its next step: the conversation, the counters, the call under way.",
                  "Three of the six are of that kind."],
        "api": ["The Messages API keeps nothing between two requests.",
                "The conversation is a list in the process that died."],
        "not-yet": ["Not what a thing is meant for decides, but whether somebody has written it down.",
                    "The model's answer has arrived; no tool has run since. So it is in messages, and messages is gone."],
        "variables": ["Nothing but the tools has written to disk. Has a tool written this?",
                      "What the loop holds in variables goes with its process."],
        "files": ["The disk does not notice that a process is killed.", "What a tool has written and closed is there."]},
    solution={name: {"kind": KIND_KEY[name], "survives": SURVIVES_KEY[name]} for name in KIND_KEY} | {"memory": {"why": "written"}},
    notes={"\"The reports and NOTES.md are there, so nothing is lost.\" What is lost?":
           "The scene: what was said so far, at which turn the loop was, what it had cost, and which call was under way. "
           "From reports and notes nobody can tell whether the mail of turn 23 went out, so a restart pays everything again and may send it twice."})
