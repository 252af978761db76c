"""Exercise 1.2, first part: what a kill in turn 23 takes, and what a checkpoint needs so that it would not. (lesson 1)"""
from .form import Field, Row, column, form, judged

FATE = Field("fate", "After the kill …", {
    "on-disk": "it is on disk", "gone": "it is gone", "outside": "it has happened outside, and none of the agent's own files says so"})
AGAIN = Field("again", "Started over in the same folder …", {
    "paid-again": "it is paid for again", "replaced": "it is made again and takes the place of the old one",
    "twice": "it is there twice", "continues": "it goes on where it was"})
LEFT = [Row(name, says, (FATE, AGAIN)) for name, says in {
    "reports": "the reports that `write_report` has written",
    "notes": "the lines that `add_note` has appended to `NOTES.md`",
    "mail": "the mail of turn 23, sent the instant before",
    "conversation": "the model's answers of 23 turns"}.items()]
REASON = Field("reason", "In the checkpoint …", {
    "context": "so that the model goes on from what was said and done",
    "not-there": "it has no place: it is on disk already, or nobody needs it",
    "settle": "so that a new process finds the call whose result nobody has recorded",
    "limit": "so that the limit on how long a run may go on still counts what was done before",
    "budget": "so that the room and the money spent so far are still known",
    "speed": "so that the resume is faster"})
FIELDS = [Row(name, says, (REASON,)) for name, says in {
    "messages": "`messages`", "turns": "`turns`", "tokensUsed": "`tokensUsed`", "reportText": "the text of `report-faro.md`",
    "pendingToolUse": "`pendingToolUse`, the call in flight", "pid": "the process id"}.items()]
REASONS = {"messages": "context", "turns": "limit", "tokensUsed": "budget", "pendingToolUse": "settle", "reportText": "not-there", "pid": "not-there"}
SLIPS = {
    ("mail", "on-disk"): ("outside", "The outbox belongs to the mail's way out, not to the agent. Which of the agent's own files has a word about turn 23?"),
    ("mail", "gone"): ("outside", "Can a kill call back what has been sent?"),
    ("fate", "gone"): ("files", "A tool has written it and closed the file. What has the kill to do with that?"),
    ("fate", "on-disk"): ("variables", "Who has written it to disk, and into which file?"),
    ("fate", "outside"): ("files", "Where would you look for it? If it is in the agent's folder, it is not outside."),
    ("again", "continues"): ("over", "Nothing says where it was. What does the first request of the new run look like?"),
    "reports": ("kinds-of-write", "Is the file written whole each time, or does it grow?"),
    "notes": ("kinds-of-write", "Is the file written whole each time, or does it grow?"),
    "mail": ("kinds-of-write", "Can a second mail take the place of the first one?"),
    "conversation": ("over", "The model is asked from the start, request by request. Who pays for that?"),
    ("pendingToolUse", "not-there"): ("in-flight", "23 calls were named, 22 have a result in messages. Who remembers the last one?"),
    ("reason", "speed"): ("reasons", "Which mistake would a resume make without it? Being slower is not one."),
    "pendingToolUse": ("in-flight", "23 calls were named, 22 have a result in messages. Who remembers the last one?"),
    ("reason", "not-there"): ("needed", "A new process starts with nothing but files. Where would it find this?"),
    "reportText": ("extra", "Is it somewhere else on disk? Then what is a second copy for?"),
    "pid": ("extra", "The process with this number is dead. What can a new one do with it?"),
    "reason": ("reasons", "Take it out of the checkpoint in your head and resume. What goes wrong first?")}

EXERCISE = form(
    "1.2", "What the kill took", rows=(*LEFT, *FIELDS),
    task="Forty turns, killed in turn 23, right after the mail went out and before its result was recorded. "
         "Say what became of each thing, and what starting over does to it. "
         "Then say what each candidate would be in a checkpoint for.",
    criteria=(
        judged("fate", "It is right what became of each thing.", LEFT,
               column("fate", {"reports": "on-disk", "notes": "on-disk", "mail": "outside", "conversation": "gone"}), SLIPS,
               "where the thing is after the kill, if anywhere"),
        judged("again", "It is right what starting over does to each thing.", LEFT,
               column("again", {"reports": "replaced", "notes": "twice", "mail": "twice", "conversation": "paid-again"}), SLIPS,
               "what a run from the start does to what the first one has left"),
        judged("in-flight", "The checkpoint has the call in flight, with its reason.", FIELDS, column("reason", {"pendingToolUse": "settle"}), SLIPS,
               "what only this field can tell a new process"),
        judged("fields", "The other fields are there for the right reasons, and nothing needless is.", FIELDS,
               column("reason", {name: reason for name, reason in REASONS.items() if name != "pendingToolUse"}), SLIPS,
               "what goes wrong in a resume that lacks it")),
    hints={
        "outside": ["Three places: the process, the agent's files, the world outside. A mail is in the third.",
                    "It happened, and no record of the agent says so. That is the dangerous kind."],
        "files": ["What tools have written stays as it is.", "Reports and NOTES.md are ordinary files in the agent's folder."],
        "variables": ["The loop kept the conversation in a list of its own and saved nothing.", "What is in no file is gone."],
        "over": ["Starting over means: turn 1, an empty conversation, the same order.", "Each answer is asked for again, and each token is paid for again."],
        "kinds-of-write": ["Writing a whole file replaces it. Appending and sending add to what is there.",
                           "Of the three effects one can be repeated without harm."],
        "in-flight": ["messages ends with a call; whether it ran, it does not say. Something has to say at least that there is such a call.",
                      "Only if the call and its id are on disk can a new process settle it."],
        "needed": ["If nobody writes it down, it starts at zero or empty.", "Four of the six candidates are needed."],
        "extra": ["A checkpoint is the scene of the loop, not a copy of everything.", "What is on disk already needs no second copy; what died with the process helps nobody."],
        "reasons": ["One field is for the model, one for a limit on length, one for what was spent, one for the call under way.",
                    "Look at each alone: which question of the next turn does it answer?"]},
    solution={"reports": {"fate": "on-disk", "again": "replaced"}, "notes": {"fate": "on-disk", "again": "twice"}, "mail": {"fate": "outside", "again": "twice"},
              "conversation": {"fate": "gone", "again": "paid-again"}} | {name: {"reason": reason} for name, reason in REASONS.items()},
    notes={"Which single thing that was lost would you most like to have back, and why?":
           "The call in flight. Tokens can be paid again, and an answer can be asked for again; "
           "but without knowing that the mail of turn 23 was under way, nobody even knows that there is a question, and the shop gets two mails."})
