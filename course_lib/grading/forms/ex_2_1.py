"""Exercise 2.1: a save that keeps nothing but messages; what is missing, and what a resume runs into. (lesson 2)"""
from .form import Field, Row, column, form, judged

NEEDED = Field("needed", "Does it have to be in the file?", {"yes": "yes, and it is missing", "no": "no, it does not belong there"})
FALLS = Field("falls", "Without it, a resume …", {
    "cap": "counts from zero: the limit comes too late, or never if the task keeps being killed",
    "forgets": "has a model that has forgotten what it was doing",
    "misread": "takes a file of another format for one of its own and misreads it",
    "nowhere": "lacks nothing: this is kept elsewhere, or must not be in a file at all",
    "dangling": "does not know of the call under way: the next request lacks a result and is refused",
    "parse": "can't parse the file",
    "compaction": "thinks that there is plenty of room, and makes the conversation shorter too late",
    "which-task": "can't say what this run is for, and goes on unnoticed under another order"})
ROWS = [Row(name, says, (NEEDED, FALLS)) for name, says in {
    "version": "`version`, which format this is",
    "effects": "`effects`, the results of all tools so far, once more",
    "task": "`task`, the order as it was given",
    "turns": "`turns`, how many there were",
    "apiKey": "`apiKey`, so that the resume can sign in",
    "tokensUsed": "`tokensUsed`, what the conversation has cost so far",
    "pendingToolUse": "`pendingToolUse`, the call that was named and has no result yet"}.items()]
KEY = {"version": "misread", "task": "which-task", "turns": "cap", "tokensUsed": "compaction", "pendingToolUse": "dangling"}
MISSING = ("missing", "Another process has this file and nothing else. Where would it get this from?")
SLIPS = {
    ("effects", "yes"): ("extra", "Every result is in messages already, and what happened has a file of its own. What would a second copy be for?"),
    ("apiKey", "yes"): ("extra", "Who can read checkpoint.json, and where does a program get its key at any start?"),
    ("needed", "no"): MISSING,
    ("falls", "forgets"): ("model", "All that the model knows of the past is in one field, and that one is saved. Which is it?"),
    ("falls", "parse"): ("parse", "The file is whole, valid JSON. What is in the way is not how it is written but what it lacks."),
    ("falls", "nowhere"): MISSING,
    "version": ("version", "Next year's program writes pendingToolUse as a list. What tells today's program that this file is not for it?"),
    "turns": ("counters", "Two numbers are missing, and each has a limit that it is held against. What is this one counted for?"),
    "tokensUsed": ("counters", "Two numbers are missing, and each has a limit that it is held against. What is this one counted for?"),
    "task": ("task", "Somebody starts the resume with another order by mistake. What in the file could object?"),
    "pendingToolUse": ("dangling", "The last message asks for a tool. What does the API want to see right after it?"),
    "effects": ("extra", "If it does not belong there, what can a resume lack without it?"), "apiKey": ("extra", "If it does not belong there, what can a resume lack without it?")}

EXERCISE = form(
    "2.1", "A save that keeps only messages", rows=ROWS,
    task="A colleague saves `{\"messages\": [...]}` and nothing else: \"the model needs nothing more\". "
         "Say of each candidate whether the file has to hold it, and what a resume runs into without it.",
    criteria=(
        judged("named", "The five missing fields are named, and no others.", ROWS,
               column("needed", {row.name: "yes" if row.name in KEY else "no" for row in ROWS}), SLIPS,
               "for each candidate, whether another process can go on without finding it in this file"),
        judged("falls", "For each of the five it is said where the resume falls over.", ROWS, column("falls", KEY), SLIPS,
               "the thing that goes wrong if this one field is missing and all others are there"),
        judged("others", "What does not belong there is lacked by nobody.", ROWS, column("falls", {"effects": "nowhere", "apiKey": "nowhere"}), SLIPS,
               "what a resume lacks without it, if anything")),
    hints={
        "missing": ["The process that resumes has never seen the one that died. What it does not find in the file, it does not know.",
                    "A checkpoint has six fields in this course. One is saved here; five are missing."],
        "extra": ["Results of tools are in messages, each after its call. What happened outside is the ledger's business, in lesson 4.",
                  "A file that is copied, mailed and put into bug reports is no place for a secret."],
        "model": ["What the model has said and seen so far is in messages, and messages is the one field that is there.",
                  "So it is not the model that lacks something. It is the loop around it."],
        "parse": ["A file can be perfectly whole and still say too little.",
                  "Torn files are the other half of the lesson. Here every byte is where it belongs."],
        "version": ["Formats change, and files stay. The field says which rules this file was written by.",
                    "Without it a program has to guess, and the drop-one-field table in lesson 2 shows what comes of it."],
        "counters": ["turns is held against a cap on how long a run may go on. tokensUsed is held against the room that the conversation may take.",
                     "A counter that begins at zero again makes its own limit useless, and no other."],
        "task": ["Each of the other fields says how far the run is. Which says what it is for?",
                 "The first message often has the order in it, too, but nobody looks for it there before going on."],
        "dangling": ["It is the one field that is null half of the time. What does it hold in the other half?",
                     "A call was named and nobody answered it. If nobody knows, nobody answers, and the API refuses the conversation."]},
    solution={row.name: {"needed": "yes" if row.name in KEY else "no", "falls": KEY.get(row.name, "nowhere")} for row in ROWS},
    notes={"Your colleague says: \"turns can be counted from messages, so why save it?\" What do you answer?":
           "For a short run one could count. But messages may be shortened when it grows too long, and then the count is wrong; "
           "a number that something depends on is better written down than worked out again from a thing that changes."})
