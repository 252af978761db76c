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


def _lesson_4_twice():
    return Question(tr("The ticket has been opened, then the process dies before anything is recorded. The resume runs whatever was pending again. How many tickets are there?"), [
        Choice(tr("One. The model sees the first result and corrects itself."), False,
               tr("The model never saw the first result: it died with the process. It gets one result, for one call, and has no way to notice the other ticket.")),
        Choice(tr("One. The second call has the same id, so the ticket system drops it."), False,
               tr("Nobody gave the ticket system that id. It got two orders and carried out two.")),
        Choice(tr("Two."), True,
               tr("Running again is right where the tool had not started, and wrong where it had. On disk the two look the same.")),
    ])


def _lesson_4_quiz():
    return Question(tr("A send_email call is found dangling. \"Just run it again,\" says a colleague, \"the model will see the result and put it right.\" Will it?"), [
        Choice(tr("Yes: the model knows that it asked only once."), False,
               tr("It did ask once, and it gets one answer. Two e-mails in the inbox are outside of what it can see.")),
        Choice(tr("No: but skipping every dangling call is safe."), False,
               tr("Skipping is wrong as often as running again: where the tool never started, the e-mail is never sent, and the call still needs its result.")),
        Choice(tr("No: look the id up in the ledger first, and decide by what it says."), True,
               tr("The model can't perceive the second e-mail. The ledger can tell that the first one went out, because it was written the instant the tool returned.")),
    ])


def _lesson_4_gates():
    return Question(tr("A payment was approved, made and recorded; then the process died. At the resume, should the person be asked again?"), [
        Choice(tr("Yes: better ask once too often than pay without asking."), False,
               tr("It has been paid. Asking \"shall I?\" about something that is done can only be answered wrongly.")),
        Choice(tr("No: the ledger is asked first, and it answers."), True,
               tr("Has it happened? comes before: should it happen? On a hit there is nothing left to approve.")),
        Choice(tr("No: the approval from before the crash still counts."), False,
               tr("Here it makes no difference. But where the ledger misses, an old yes must not be used for a new run: the person agreed to one payment.")),
    ])


def _lesson_4_transfers():
    return Question(tr("Two transfers of 30 from the shop to Ada, same accounts, same sum, both ordered on purpose. What may tell the harness that they are two?"), [
        Choice(tr("Their input: equal input means the same transfer."), False,
               tr("Then the second one would never be made. Equal input says nothing about whether it was meant once or twice.")),
        Choice(tr("Their tool_use_id: each call has its own."), True,
               tr("The same id again is a replay and must not run. A new id is a new order and must.")),
        Choice(tr("Their time: more than a minute apart means two."), False,
               tr("A resume may come a day later, and two orders may come in one second.")),
    ])


QUESTIONS = {
    "lesson 4: twice": _lesson_4_twice,
    "lesson 4: quiz": _lesson_4_quiz,
    "lesson 4: gates": _lesson_4_gates,
    "lesson 4: transfers": _lesson_4_transfers,
    "lesson 6: ledger hit": _lesson_6_ledger_hit,
    "lesson 6: torn file": _lesson_6_torn,
    "lesson 6: unknown": _lesson_6_unknown,
    "lesson 6: record first": _lesson_6_record_first,
    "lesson 6: quiz": _lesson_6_quiz,
}
