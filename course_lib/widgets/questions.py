"""The questions that the notebooks ask: predictions and quizzes, by name."""
from ..words import tr
from .question import Choice, Question


def ask(name):
    """The Question of that name. Raises KeyError for a name there is none of."""
    return QUESTIONS[name]()


def _lesson_6_ledger_hit():
    return Question(tr("The third tool has finished and is in the ledger; save B never happened. What will --resume do with write_report?"), [
        Choice(tr("Run it again: checkpoint.json says that it is still pending."), False,
               tr("Pending means that no result is in messages. Whether the tool ran is a question for the ledger, and the ledger has an answer.")),
        Choice(tr("Take its result from the ledger and not run it."), True,
               tr("The id toolu_03 is in effects.json, so the call has happened and its result is known. The model never notices the crash.")),
        Choice(tr("Tell the model that nobody knows whether it ran."), False,
               tr("That is the answer when the ledger has no entry and the tool changes something. Here it has one.")),
    ])


def _lesson_6_torn():
    return Question(tr("checkpoint.json is cut off in the middle. What should load_checkpoint do?"), [
        Choice(tr("Begin with an empty scene, so that the program at least runs."), False,
               tr("Then the task starts over without anybody knowing, and every effect it had is made a second time.")),
        Choice(tr("Keep the part that can be read."), False,
               tr("Half a conversation can end in a call without its result, or lack the call that mattered. It looks whole and is not.")),
        Choice(tr("Refuse the file, say why, and change nothing."), True,
               tr("A scene that can't be trusted is worth less than none. The file stays where it is, for a person to look at.")),
    ])


def _lesson_6_unknown():
    return Question(tr("Now the kill comes a moment earlier: write_report has done its work, the ledger does not know it yet. What will --resume do?"), [
        Choice(tr("See report.txt on disk and count the call as done."), False,
               tr("reconcile knows nothing of report.txt. It reads checkpoint.json and effects.json, and both look as if the tool had never started.")),
        Choice(tr("Run write_report again: a miss in the ledger means it has not run."), False,
               tr("A miss means: not recorded. Between effect and record there is always a gap, and the process died in it.")),
        Choice(tr("Answer the call with an error that says: state unknown."), True,
               tr("There is no entry, and the tool changes something outside. Neither of the two files tells \"never started\" from \"done\", so the model is told just that.")),
    ])


def _lesson_6_quiz():
    return Question(tr("Somebody wants to save a write: \"Point B holds all the fields that Point A holds, so keep only B.\" Is that safe?"), [
        Choice(tr("Yes. At Point B the result is in messages, so nothing is missing from the file."), False,
               tr("At Point B nothing is missing. The question is what the file says before that: while the tool runs, the newest save is the last turn's B, "
                  "and it has never heard of this call.")),
        Choice(tr("No. A kill between the model's call and Point B leaves no trace of the call, so the effect can be made twice."), True,
               tr("You saw it: the resumed model names the tool anew, under a new id. The ledger has the old id and misses. Point A is what ties the call to its id.")),
        Choice(tr("Yes, as long as the ledger is written: it has the call and its result."), False,
               tr("The ledger is asked by id, and only Point A keeps the id over the crash. Without it the entry is there and nobody asks for it.")),
    ])


def _lesson_6_record_first():
    return Question(tr("A colleague records first and runs afterwards, \"so that the entry can't be lost\". The kill comes in between. What does the resumed run believe?"), [
        Choice(tr("That the tool has run, with null as its result."), True,
               tr("The entry is there, so the ledger hits. The tool is skipped, its file does not exist, and the model is told that all went well.")),
        Choice(tr("That the state is unknown, since the result is null."), False,
               tr("null can be an honest result; a hit counts whatever the result is. An entry made too early is a false promise that nobody can tell from a true one.")),
        Choice(tr("That the tool must run, since there is no result."), False,
               tr("reconcile asks whether there is an entry, not whether it looks complete.")),
    ])


QUESTIONS = {
    "lesson 6: ledger hit": _lesson_6_ledger_hit,
    "lesson 6: torn file": _lesson_6_torn,
    "lesson 6: unknown": _lesson_6_unknown,
    "lesson 6: record first": _lesson_6_record_first,
    "lesson 6: quiz": _lesson_6_quiz,
}
