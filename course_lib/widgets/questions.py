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


def _lesson_3_can_it_tell():
    return Question(tr("The resumed process asks the model to go on. How can the model notice that the process was killed in between?"), [
        Choice(tr("By the time that has passed."), False,
               tr("A request carries no clock. Between two requests there may be a second or a month.")),
        Choice(tr("By the connection: it is a new session."), False,
               tr("There is no session. Each request stands for itself and brings the whole conversation along.")),
        Choice(tr("It can't. The request is the same as without the kill."), True,
               tr("The messages are all that the model knows of the past, and they came back from the file as they were.")),
    ])


def _lesson_3_as_it_is():
    return Question(tr("The last message is an assistant turn with a tool call and no result. What happens if it is sent like that?"), [
        Choice(tr("The model sees its open call and names it again."), False,
               tr("The model never gets to see it: the conversation is refused before that.")),
        Choice(tr("The request is refused, with the id of the call."), True,
               tr("Each tool_use needs its tool_result in the very next message. The error names the id that has none.")),
        Choice(tr("The API takes the result as empty and goes on."), False,
               tr("It does not fill in anything. An empty result would be an answer, too, and only the harness can give one.")),
    ])


def _lesson_3_delete():
    return Question(tr("The e-mail is out. The resume deletes the turn that asked for it and goes on. How many e-mails will there be?"), [
        Choice(tr("One: the model remembers that it has asked."), False,
               tr("What it remembers is what stands in messages, and the turn was just taken out.")),
        Choice(tr("One: the new call is recognised by its id."), False,
               tr("A call that is named anew has a new id. Nothing ties it to the old one.")),
        Choice(tr("Two, and the conversation will show one."), True,
               tr("The report says that something has to be done, so the model asks for the e-mail, for the first time as far as it knows.")),
    ])


def _lesson_3_cap():
    return Question(tr("The cap is 5 turns. Each life does one turn and dies. If a resume begins with turns at zero, which life meets the cap?"), [
        Choice(tr("The fifth or sixth: five turns are five turns."), False,
               tr("Five turns were done, but the counter never saw more than one of them.")),
        Choice(tr("None."), True,
               tr("Each life counts to one and dies. The cap is there, and it is never reached.")),
        Choice(tr("It does not matter: the model stops by itself."), False,
               tr("A model that keeps finding something to do is exactly what the cap is for.")),
    ])


def _lesson_3_quiz():
    return Question(tr("\"A dangling call makes the API refuse the conversation. So the resume drops that assistant message; then it is clean.\" Is that a good rule?"), [
        Choice(tr("Yes. The call had no result, so nothing is lost with it."), False,
               tr("No result in the file does not mean that nothing happened. At ② the effect is in the world, and this turn was its only trace.")),
        Choice(tr("Yes, if the model is then told to be careful."), False,
               tr("It can't be careful about a call that it has never heard of.")),
        Choice(tr("No. Keep the turn and answer the call: run it again if it only reads, else say that the state is unknown."), True,
               tr("The API wants an answer, not a clean past. With the turn kept, the model knows what it had decided, and what nobody knows is said openly.")),
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
               tr("Skipping is wrong, too: where the tool never started, the e-mail is never sent, and the call still needs its result.")),
        Choice(tr("No: look the id up in the ledger first, and decide by what it says."), True,
               tr("The model can't perceive the second e-mail. If the first one was recorded, the ledger says so, because it is written the instant the tool returns. Section 6 is about the case in which it was not.")),
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


def _lesson_4_miss():
    return Question(tr("An e-mail is pending and not in the ledger. Was it sent?"), [
        Choice(tr("No: if it had been, it would be in the ledger."), False,
               tr("Between the sending and the entry there is an instant, and a process can die in it. Then it was sent and is not in the ledger.")),
        Choice(tr("Yes: it is pending, so the tool has been started."), False,
               tr("Pending means that the model has named it. The process may have died before the tool began.")),
        Choice(tr("Nobody can tell from these two files."), True,
               tr("Not started, and done but not recorded, leave the same checkpoint and the same ledger. The next cell compares them byte by byte.")),
    ])


def _lesson_4_corrupt():
    return Question(tr("The e-mail was sent and recorded, then the ledger was damaged. load_effects gives an empty ledger for a broken one. What does this lesson's rule do?"), [
        Choice(tr("It stops with an error, since the file can't be read."), False,
               tr("It would, if somebody told it. An empty ledger is no error: it says that nothing has ever happened.")),
        Choice(tr("It sends the e-mail again."), True,
               tr("A broken ledger that passes for an empty one turns every recorded effect into one that never happened.")),
        Choice(tr("It reuses the result in the checkpoint."), False,
               tr("The checkpoint was saved before the tool ran. It has the call, not its result.")),
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


def _lesson_1_left():
    return Question(tr("SIGKILL hits in turn 23, right after the sixth mail has gone out. What can the next process find?"), [
        Choice(tr("Nothing. What a process has done goes when it goes."), False,
               tr("What it had in its own memory goes. Files belong to the disk, and mails to whoever received them.")),
        Choice(tr("The files that tools have written, and nothing else."), True,
               tr("Reports, NOTES.md and the outbox are there. The conversation, the counters and the call under way were variables of the dead process.")),
        Choice(tr("Everything: the conversation was sent to the API, so it can be fetched from there."), False,
               tr("The Messages API keeps no conversation for us. Each request has to bring the whole of it along, and what brought it is dead.")),
    ])


def _lesson_1_under_way():
    return Question(tr("Which file tells a new process that the mail to Guarda was being sent when the old one died?"), [
        Choice(tr("report-guarda.md: it is there, so turn 22 is done and turn 23 comes next."), False,
               tr("You know the order of the calls, because you have seen the script. A new process knows one thing: that there is a report.")),
        Choice(tr("NOTES.md: Guarda is missing in it."), False,
               tr("Viseu is missing in it, too. That a line is missing says that the note was not written, and nothing about the mail.")),
        Choice(tr("None of them."), True,
               tr("The files say what tools have left. Which call was named, and that its result was still awaited, only the scene knew.")),
    ])


def _lesson_1_mails():
    return Question(tr("Nothing was saved, so the task is started again in the same folder. How many mails go out altogether, for ten shops?"), [
        Choice(tr("Ten. The reports are there, so those shops are skipped."), False,
               tr("Nobody looks. A new run has a new conversation, whose first message is the task.")),
        Choice(tr("Eleven. Only the mail that was under way goes out again."), False,
               tr("That is what a blind resume would do. Starting over repeats every turn, and five mails before this one.")),
        Choice(tr("Sixteen."), True,
               tr("Six before the kill, ten afterwards: six shops get their mail twice.")),
    ])


def _lesson_1_quiz():
    return Question(tr("\"The reports are on disk and so is NOTES.md,\" says a colleague. \"Nothing is lost, just run it again.\" Is that so?"), [
        Choice(tr("Yes. What matters was written down, and the rest is only conversation."), False,
               tr("That conversation is what the loop works with: which calls were made, what came back, what was to be done next. "
                  "It is gone, its tokens are paid again, and the mails go out again.")),
        Choice(tr("Not as it is, but messages can be rebuilt from the reports and the notes."), False,
               tr("They hold results, not the way there: no ids, no order, nothing the model said in between, and no sign of the call that was under way.")),
        Choice(tr("No. The scene is lost, its price is paid again, and effects happen a second time."), True,
               tr("Output and memory survive, and still the loop can't go on: it has to begin again, and that costs tokens and repeats what can't be taken back.")),
    ])


def _lesson_1_twice_as_long():
    return Question(tr("Nobody interrupts anything. A task takes twice as many turns as another one; how many times the tokens?"), [
        Choice(tr("Twice as many."), False,
               tr("That would be so if each request sent only what is new. It sends the whole conversation again.")),
        Choice(tr("About four times as many."), True,
               tr("Turn k sends k-1 earlier turns once more, so the sum grows with the square of the length.")),
        Choice(tr("Far more: it doubles with each turn."), False,
               tr("Each turn costs one turn's worth more than the one before. That adds up to a square, not to a doubling.")),
    ])


def _lesson_2_pending():
    return Question(tr("Somebody finds pendingToolUse superfluous and leaves it out: \"the call is in messages anyway\". The process dies while the tool runs. What happens at the resume?"), [
        Choice(tr("The model is asked again and names the tool once more."), False,
               tr("That would need a conversation the model can be asked with. This one ends with a call that has no result.")),
        Choice(tr("Nothing seems to be under way, so messages are sent as they are, and the API refuses them."), True,
               tr("The loop takes null, or a missing field, for \"between two turns\". The last message is a call without its result, and that is a 400, on every further attempt, too.")),
        Choice(tr("The tool is run again, since it has no result."), False,
               tr("For that, somebody would have to notice that a call is open. pendingToolUse is what makes it noticed.")),
    ])


def _lesson_2_window():
    return Question(tr("The process died somewhere between Point A and Point B. What does checkpoint.json say of the tool?"), [
        Choice(tr("That it was named. Whether it ran, the file doesn't say."), True,
               tr("Nothing is written to it between A and B. Not started, half done, done: the same bytes.")),
        Choice(tr("That it has not run, or else its result would be there."), False,
               tr("The result gets there at Point B. A tool that had finished just before the kill looks the same as one that never began.")),
        Choice(tr("That it has run, since A is saved right before it."), False,
               tr("Right before is still before. The kill may have come in that very gap.")),
    ])


def _lesson_2_torn():
    return Question(tr("A save opens the file with \"w\" and writes 2,000 bytes. It is killed at a byte that chance picks. How likely is it that what is left can be loaded?"), [
        Choice(tr("About half of the time: in the first half little is lost."), False,
               tr("open with \"w\" empties the file before the first byte is written. From then on there is neither the old save nor the new one.")),
        Choice(tr("Only if the last byte was written as well."), True,
               tr("JSON is whole when its last brace is there. And the save before is gone since the open.")),
        Choice(tr("Always: the old save stays until the new one is closed."), False,
               tr("That is what the atomic write does. A plain one writes over the only copy.")),
    ])


def _lesson_2_power():
    return Question(tr("A temp file is written and renamed, and the save returns. No fsync. Then the power goes. What may checkpoint.json be?"), [
        Choice(tr("The new save: the rename is done, and it is all or nothing."), False,
               tr("All or nothing for those who read while the system runs. Name and bytes were still on their way to the disk, each on its own.")),
        Choice(tr("The old save or the new one."), False,
               tr("Those two, yes, and one more: the name may have got there before the bytes.")),
        Choice(tr("The old save, the new one, or an empty or broken file."), True,
               tr("The new name can reach the disk while the bytes it stands for never do. Many programs have lost their settings in this way.")),
    ])


def _lesson_2_quiz():
    return Question(tr("A colleague saves with one line: turn the scene into JSON text and write it straight over checkpoint.json. What is wrong with it?"), [
        Choice(tr("Nothing, as long as it is done at Point A and Point B."), False,
               tr("The points are right. But each save is itself an instant to die in, and this one breaks the only copy.")),
        Choice(tr("The file grows with every turn, so in time saving gets too slow."), False,
               tr("It does grow, and lesson 5 comes back to that. It would be slow and right; this is fast and broken.")),
        Choice(tr("A kill in the middle leaves half a file, and the save before it is gone."), True,
               tr("The crash that the checkpoint is for can come while the checkpoint is written. So: a temp file first, then the rename.")),
    ])


def _lesson_5_what_is_back():
    return Question(tr("Turn 4 has promised Ada a new lamp by e-mail, and turn 5 has sent it. Now the run is taken back to turn 3. Where are the e-mail and the lamp?"), [
        Choice(tr("Back as well: it is as if turns 4 and 5 had never happened."), False,
               tr("They are gone from messages. A checkpoint is a file about the loop, and no file can call back an e-mail or a parcel.")),
        Choice(tr("Both are out, and the ledger still says so."), True,
               tr("What was decided is taken back, what was done is not. The ledger tells what happened outside, so it stays as it is.")),
        Choice(tr("Both are out, and the ledger has forgotten them, as the run has."), False,
               tr("Then nothing in the house would know of them at all. The ledger only ever grows; effects_since reads from it what still stands.")),
    ])


def _lesson_5_later_files():
    return Question(tr("The run goes on from turn 3. What should become of the files of turns 4 to 6?"), [
        Choice(tr("They stay where they are; the new turns will write over them one by one."), False,
               tr("If the new run is killed in its turn 4, the newest file is an old one: turn 6 of the way that was left. A resume would go on with that.")),
        Choice(tr("They are deleted, as that way was wrong."), False,
               tr("Then load_latest is right, and nobody can look at what went wrong any more.")),
        Choice(tr("They are moved aside, before the first new turn is saved."), True,
               tr("The newest turn file is the right one at every instant, and nothing is lost.")),
    ])


def _lesson_5_two_branches():
    return Question(tr("The first branch has paid in turn 3. A second one begins at turn 2 and goes on. How often will the bank pay?"), [
        Choice(tr("Once: the second branch finds the payment in the ledger."), False,
               tr("Whose ledger? Each branch asks its own, under an id that only it has. Neither can find the other's.")),
        Choice(tr("Twice, if the person at the gate says yes again."), True,
               tr("Two timelines, one world. Only the person who is asked could see both, so the gate has to tell them.")),
        Choice(tr("Once: in a branch the tools are only tried out."), False,
               tr("Nothing in a checkpoint knows of trying out. The tools of the branch are the same tools, with the same account behind them.")),
    ])


def _lesson_5_new_id():
    return Question(tr("The payment is on record as made. After a rewind the model asks for the same payment again. What does the ledger gate say?"), [
        Choice(tr("A hit: same tool, same input, so the recorded result is given."), False,
               tr("The ledger is asked by id, not by likeness: two equal payments can both be meant.")),
        Choice(tr("A miss: the new call has a new id. It is paid again."), True,
               tr("A resume finds the old call in the checkpoint, with its old id. After a rewind the model decides anew, and each naming has an id of its own.")),
        Choice(tr("An error: this payment was made on a timeline that is no more."), False,
               tr("The gate knows ids and entries. It is not asked whether another timeline did something alike; we add that below.")),
    ])


def _lesson_5_growth():
    return Question(tr("20 turns are kept, a file a save, and each file holds the whole conversation. Another 20 turns follow. How much room will all the files take then?"), [
        Choice(tr("A little more: only the new turns come on top."), False,
               tr("Only 40 new files come on top. But each of them holds all the turns before it once more.")),
        Choice(tr("About twice as much."), False,
               tr("Twice as many files, yes. And the average file is about twice as long.")),
        Choice(tr("About four times as much."), True,
               tr("Twice as many files, each twice as long on average. At 1000 turns it is 2500 times what it was at 20.")),
    ])


def _lesson_5_torn_line():
    return Question(tr("A kill leaves the last line of history.jsonl half written. What should the next start do with the file?"), [
        Choice(tr("Refuse it: a state that can't be trusted is never guessed."), False,
               tr("Right for checkpoint.json, where the torn bytes are all there is. Here each line before the last is whole, and its checksum proves it.")),
        Choice(tr("Drop the half line, say so, and go on from the line before."), True,
               tr("A line that was not finished was never reported as saved, so nobody has built on it. The line before it is a complete save.")),
        Choice(tr("Complete the line as well as it can."), False,
               tr("That would be a guess, and a save that never was would count as one.")),
    ])


def _lesson_5_quiz():
    return Question(tr("\"With a checkpoint a turn we can go back to any of them. So the agent's folder needs no Git any more.\" Is that right?"), [
        Choice(tr("Yes. Both go back to an earlier state, and the checkpoints are finer."), False,
               tr("They go back to different things. The scene of turn 14 has messages and counters; what report.txt said at turn 14 is not in it.")),
        Choice(tr("Yes, if the checkpoints are kept for good."), False,
               tr("You can keep the scenes for years, and they still hold no file that a tool has changed. Nor can a colleague merge or review them.")),
        Choice(tr("No. Checkpoints have the scene of one run, Git has the files, for good and for everybody."), True,
               tr("Neither has the e-mails that went out, by the way. Those are in the ledger, and that takes nothing back.")),
    ])


def _lesson_5_ledger_quiz():
    return Question(tr("The run is taken back to turn 3. \"So its ledger should be cut back to turn 3 as well, or the two don't fit together.\" Is that a good idea?"), [
        Choice(tr("Yes. The later entries belong to calls that no longer exist."), False,
               tr("The calls are gone from the conversation. The e-mail is in an inbox. With its entry deleted, no book in the house knows of it.")),
        Choice(tr("No. They needn't fit: one says what the loop has decided, the other what has happened outside."), True,
               tr("The difference between the two is just what a rewind leaves standing. effects_since reads it off, the model is told, and the gate can warn.")),
        Choice(tr("No, since the new calls could then get the old ids."), False,
               tr("The new calls get new ids, with or without these entries. What would be lost is the knowledge.")),
    ])


QUESTIONS = {
    "lesson 1: what is left": _lesson_1_left,
    "lesson 1: under way": _lesson_1_under_way,
    "lesson 1: mails": _lesson_1_mails,
    "lesson 1: quiz": _lesson_1_quiz,
    "lesson 1: twice as long": _lesson_1_twice_as_long,
    "lesson 2: pending": _lesson_2_pending,
    "lesson 2: window": _lesson_2_window,
    "lesson 2: torn": _lesson_2_torn,
    "lesson 2: power": _lesson_2_power,
    "lesson 2: quiz": _lesson_2_quiz,
    "lesson 3: can it tell": _lesson_3_can_it_tell,
    "lesson 3: as it is": _lesson_3_as_it_is,
    "lesson 3: delete": _lesson_3_delete,
    "lesson 3: cap": _lesson_3_cap,
    "lesson 3: quiz": _lesson_3_quiz,
    "lesson 4: twice": _lesson_4_twice,
    "lesson 4: quiz": _lesson_4_quiz,
    "lesson 4: gates": _lesson_4_gates,
    "lesson 4: miss": _lesson_4_miss,
    "lesson 4: corrupt": _lesson_4_corrupt,
    "lesson 4: transfers": _lesson_4_transfers,
    "lesson 5: what is back": _lesson_5_what_is_back,
    "lesson 5: later files": _lesson_5_later_files,
    "lesson 5: two branches": _lesson_5_two_branches,
    "lesson 5: new id": _lesson_5_new_id,
    "lesson 5: growth": _lesson_5_growth,
    "lesson 5: torn line": _lesson_5_torn_line,
    "lesson 5: quiz": _lesson_5_quiz,
    "lesson 5: ledger quiz": _lesson_5_ledger_quiz,
    "lesson 6: ledger hit": _lesson_6_ledger_hit,
    "lesson 6: torn file": _lesson_6_torn,
    "lesson 6: unknown": _lesson_6_unknown,
    "lesson 6: record first": _lesson_6_record_first,
    "lesson 6: quiz": _lesson_6_quiz,
}
