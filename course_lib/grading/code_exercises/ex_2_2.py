"""Exercise 2.2: a loop with two latent failures: it saves in place, and at Point B only. (lesson 2)"""
import json

from ...transcript import check_transcript
from ...words import mark, tr
from ..driver import RAISED, RETURNED, Fake, Response
from ..exercise import Question
from .answer import because, code_exercise, criterion, no_own_error, outcome, put, read, runs, shown, slip
from .crashes import SAVE_HINTS, check_atomic
from .fakes import Tools, kill, tells

TORN = "sales-report/write_report/lesson-6/mid-save-a:1"
USAGE = {"input_tokens": 70, "output_tokens": 11}
WRONG_VERSIONS = [2, 0, "1", True, 1.5, None]
WRONG_TYPES = {"task": 5, "turns": "3", "tokensUsed": None, "messages": {}, "pendingToolUse": []}
SAVE_A_SET = '''
def save_what_no_file_can_hold(path, checkpoint):
    save_checkpoint(path, {**checkpoint, "messages": [*checkpoint["messages"], {"role": "user", "content": {1, 2}}]})
'''
IN_PLACE = Question("in place", mark("`save_checkpoint` writes straight over the only copy. What does it lead to, killed in the middle of the write?"), {
    "a": mark("The next save mends the file."),
    "b": mark("The file is cut off, the old state is overwritten, and there is nothing to resume from."),
    "c": mark("The operating system keeps the old content until the file is closed."),
    "d": mark("The file grows larger with every save.")})
ONLY_B = Question("only b", mark("The state is saved only when a turn is complete. What does it lead to, killed while a tool runs?"), {
    "a": mark("The tool's result is missing in the file, but its name is there."),
    "b": mark("The file is torn."),
    "c": mark("A resume sees the state before the call: that a tool was named, and perhaps ran, has left no trace."),
    "d": mark("Nothing is lost, since the turn was not complete.")})


def file(folder):
    return folder / "checkpoint.json"


def scene(answer, turns=3):
    """A checkpoint at Point B, with words from outside ASCII."""
    messages = [{"role": "user", "content": f"Übersicht für {answer.word()} 🚀 \u2028 日本"}]
    return {"version": 1, "task": answer.word(), "turns": turns, "tokensUsed": 500 + turns, "messages": messages, "pendingToolUse": None}


class Model:
    """The model of a small task: two tool calls, then an answer. requests: the messages of each request."""

    def __init__(self, answer, on_request=lambda n: None):
        self.task, self.on_request, self.requests = f"Report on {answer.word()}", on_request, []
        self.calls = [{"id": answer.id(), "name": name, "input": {"text": answer.word()}} for name in ("read_notes", "write_report")]
        self.client = Fake(messages=Fake(create=Fake(self._create)))

    def _create(self, /, *_, messages=None, **__):
        self.requests.append(messages)
        self.on_request(len(self.requests))
        n = len(self.requests) - 1
        text = {"type": "text", "text": f"Step {n + 1}."}
        done = n >= len(self.calls)
        return Response({"role": "assistant", "content": [text] if done else [text, {"type": "tool_use", **self.calls[n]}],
                         "stop_reason": "end_turn" if done else "tool_use", "usage": USAGE})


@criterion("round_trip", mark("What one process has saved, another one loads, whatever language it is in."))
def round_trip(answer):
    path = file(answer.folder())
    for checkpoint in (scene(answer), scene(answer, 4)):  # the second at the same path, so that nothing a load has remembered will do
        answer.write("save_checkpoint", path, checkpoint)
        ended = answer.process.call("load_checkpoint", path)
        if ended.status == RAISED or answer.got(ended, "load_checkpoint") != checkpoint:
            slip("round-trip", tr("one process saved, another one loaded: {how}", how=outcome(answer, ended, "load_checkpoint")), shown(checkpoint),
                 tr("A resume is a new process. What the old one had in memory went with it; all it gets is the file, as it is now."))
    with answer.child(ascii=True) as child:
        for name, args in (("save_checkpoint", (path, checkpoint)), ("load_checkpoint", (path,))):
            ended = child.call(name, *args)
            if ended.status != RETURNED or name == "load_checkpoint" and ended.value != checkpoint:
                slip("encoding", tr("on a machine whose own encoding is ASCII: {how}", how=outcome(answer, ended, name)), tr("the same file and the same words on every machine"),
                     tr("A file that is opened without a named encoding gets the machine's own. Where that one lacks a letter of the text, the run ends there, or another letter comes back."))


@criterion("atomic", mark("Killed at any instant, a save leaves the old file or the new one."))
def atomic(answer):
    check_atomic(answer, "save_checkpoint", file, scene(answer), scene(answer, 4), lambda path, checkpoint: (path, checkpoint), TORN)


@criterion("runs_through", mark("The loop still does its work: each tool runs once, the model gets each result, the final text comes back."))
def runs_through(answer):
    results = {"read_notes": answer.word(), "write_report": answer.word()}
    model, tools = Model(answer), Tools(results)
    given = answer.call("run_loop", model.client, model.task, tools.fakes(), path=file(answer.folder()))
    wanted = [(call["name"], call["input"]) for call in model.calls]
    if tools.ran != wanted or len(model.requests) != 3:
        slip("loop-broken", tr("{n} requests, and these tools ran: {ran}", n=len(model.requests), ran=shown(tools.ran)), tr("3 requests and these: {ran}", ran=shown(wanted)))
    for n, messages in enumerate(model.requests):
        breaches = check_transcript(messages) if n else [] if messages == [{"role": "user", "content": model.task}] else [{"text": shown(messages)}]
        if breaches:
            slip("loop-broken", tr("request {n}: {breach}", n=n + 1, breach=breaches[0]["text"]), tr("a conversation that begins with the task and that the API takes"))
    told = [block.get("content") for message in model.requests[-1] if isinstance(message["content"], list) for block in message["content"] if block["type"] == "tool_result"]
    if not all(map(tells, told, results.values())):
        slip("loop-broken", tr("the model was told {told}", told=shown(told)), tr("what the tools gave: {results}", results=shown(list(results.values()))))
    if given != "Step 3.":
        slip("loop-broken", tr("run_loop gave {value}", value=shown(given)), tr("the text of the model's last response"))


@criterion("point_a", mark("Point A: when a tool starts, the file names that call in pendingToolUse."))
def point_a(answer):
    for n in (0, 1):
        model, path = Model(answer), file(answer.folder())
        _killed_run(answer, model, path, asked=lambda name, n=n: name == model.calls[n]["name"] and kill())
        found, call = _checkpoint(path), model.calls[n]
        story = tr("The model named {name}, and the process was killed while it ran. Whoever resumes finds no trace of that call: "
                   "the model is asked again, and what {name} had already done is done once more.", name=call["name"])
        if found is None or found.get("pendingToolUse") is None:
            slip("no-point-a", tr("killed while {name} ran, the file has {found}", name=call["name"], found=tr("no checkpoint") if found is None else "pendingToolUse: null"),
                 tr("pendingToolUse: {call}", call=shown(call)), story)
        if found["pendingToolUse"] != call:
            _other_call(found["pendingToolUse"], call)
        _check_fields(found, model, turns=(n, n + 1), requests=n + 1, messages=_at_a(model, n))


@criterion("point_b", mark("Point B: when the next request goes out, the file has the result in messages and pendingToolUse is null."))
def point_b(answer):
    model, path = Model(answer, lambda n: n == 2 and kill()), file(answer.folder())
    _killed_run(answer, model, path)
    found = _checkpoint(path)
    if found is None or found.get("pendingToolUse", "–") is not None:
        slip("no-point-b", tr("killed at the next request, the file has {found}", found=tr("no checkpoint") if found is None else f"pendingToolUse: {shown(found.get('pendingToolUse', '–'))}"),
             "pendingToolUse: null", tr("The tool was done and its result known. A resume takes the call for open all the same, and has to guess."))
    _check_fields(found, model, turns=(1,), requests=1, messages=[model.requests[-1]])


@criterion("missing", mark("No file: an error that you raise, with a text; let it say that there is nothing to resume from."))
def missing(answer):
    ended = answer.process.call("load_checkpoint", file(answer.folder()))
    if fault := no_own_error(answer, ended, "load_checkpoint"):
        slip(_hint(answer, ended, "missing"), fault, tr("an error that you raise, with a text of your own; let it say what is missing, and what to do"),
             tr("Somebody asks for a resume in a folder where nothing ever ran, and should be told just that."))


@criterion("torn", mark("A file cut off at any byte: an error that you raise, with another text than for no file; never a default."))
def torn(answer):
    path, checkpoint = file(answer.folder()), scene(answer)
    no_file = answer.process.call("load_checkpoint", path)
    answer.write("save_checkpoint", path, checkpoint)
    answer.call("load_checkpoint", path)  # what is remembered of the whole file is worth nothing when it is whole no more
    whole = read(path)
    with put(path, whole) as cut_off:
        for cut in reversed(range(len(whole))):
            cut_off.truncate(cut)
            _check_cut(answer, path, checkpoint, no_file, cut, whole)


def _check_cut(answer, path, checkpoint, no_file, cut, whole):
    ended = answer.process.call("load_checkpoint", path)
    if ended.status == RETURNED and ended.value == checkpoint and not whole[cut:].strip():  # all that was cut off is white space
        return
    if fault := no_own_error(answer, ended, "load_checkpoint"):
        slip(_hint(answer, ended, "torn"), tr("cut off after {n} of {all} bytes: {how}", n=cut, all=len(whole), how=fault),
             tr("an error that you raise, with a text of your own; let it say what to do"),
             tr("A save was cut off in the middle. The resume goes on with a state that was never saved.") if ended.status == RETURNED else
             tr("A save was cut off in the middle. The resume ends, and in words that help nobody."))
    if ended.text == no_file.text:
        slip("same-words", tr("a file cut off and no file at all get the same words: {words}", words=ended.text),
             tr("words of their own: one can start at once, the other must delete something first"))


@criterion("version", mark("A version that is not the number 1 is refused, and named."))
def version(answer):
    path = file(answer.folder())
    for wrong in WRONG_VERSIONS:
        put(path, {**scene(answer), "version": wrong}).close()
        ended = answer.process.call("load_checkpoint", path)
        fault = no_own_error(answer, ended, "load_checkpoint")
        if fault or not (str(wrong) in ended.text or json.dumps(wrong) in ended.text):
            slip(_hint(answer, ended, "version"), tr("version {version}: {how}", version=json.dumps(wrong), how=fault or outcome(answer, ended, "load_checkpoint")),
                 tr("an error that you raise, in words, and {version} stands in it", version=json.dumps(wrong)),
                 tr("The file was written by another program than this one. Read as if it were ours, it is half right and half wrong.") if ended.status == RETURNED else
                 tr("The file is refused, as it should be. But whoever reads why is not told which version it has, and can't look for the program that reads it."))
    without = scene(answer)
    del without["version"]
    _refused(answer, path, without, tr("no version"))


@criterion("shape", mark("A list, a missing key or a wrong type is refused."))
def shape(answer):
    path = file(answer.folder())
    _refused(answer, path, [scene(answer)], tr("a list"))
    for key, wrong in WRONG_TYPES.items():
        checkpoint = scene(answer)
        _refused(answer, path, {**checkpoint, key: wrong}, f"{key}: {json.dumps(wrong)}")
        del checkpoint[key]
        _refused(answer, path, checkpoint, tr("no {key}", key=key))


@criterion("unsavable", mark("A state that can't be written down leaves the old file as it was."))
def unsavable(answer):
    path = file(answer.folder())
    answer.call("save_checkpoint", path, scene(answer))
    before = read(path)
    with answer.child() as child:
        child.run(SAVE_A_SET)
        ended = child.call("save_what_no_file_can_hold", path, scene(answer, 4))
    if read(path) != before or ended.status == RETURNED:
        slip("unsavable", tr("messages held a set, which JSON has no form for: {how}", how=outcome(answer, ended, "save_checkpoint")) + ("" if read(path) == before else tr("; the old file is gone or changed")),
             tr("an error, and the old file as it was"), tr("One bad value, and the last good state is lost with it."))


def _other_call(given, call):
    """Leave with a slip: pendingToolUse is not the call, or not in its form."""
    inside = given[0] if isinstance(given, list) and len(given) == 1 else given
    if isinstance(inside, dict) and all(inside.get(key) == value for key, value in call.items()):
        slip("call-form", shown(given), shown(call), tr("The call is there, but in another form than the lessons have it. "
             "Whoever reads this file, a resume or another program, looks for its id, its name and its input, and for nothing beside or around them."))
    slip("other-call", shown(given), shown(call), tr("The model named {name}, and the process was killed while it ran. "
         "Whoever resumes has to give this very call an answer, and can't tell from the file which one it was, or what it was to do.", name=call["name"]))


def _hint(answer, ended, name):
    """The ladder for a file that should have been refused: one for what was taken all the same, one for an error that is no good."""
    if ended.status not in (RETURNED, RAISED):
        answer.got(ended, "load_checkpoint")
    return f"{name}-accepted" if ended.status == RETURNED else name


def _killed_run(answer, model, path, asked=None):
    with answer.child() as child:
        child.call("run_loop", model.client, model.task, Tools({"read_notes": "notes", "write_report": "written"}, asked=asked).fakes(), path=path)


def _checkpoint(path):
    try:
        found = json.loads(read(path) or b"null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _at_a(model, n):
    """What messages may be at Point A: with the assistant's turn (lessons 2 and 3) or without it yet (lesson 6)."""
    sent = model.requests[n]
    return [sent, [*sent, {"role": "assistant", "content": [{"type": "text", "text": f"Step {n + 1}."}, {"type": "tool_use", **model.calls[n]}]}]]


def _check_fields(found, model, *, turns, requests, messages):
    tokens = {requests * USAGE["output_tokens"], requests * sum(USAGE.values()), sum(USAGE.values())}  # each as one of the lessons counts
    wanted = {"version": lambda v: v == 1, "task": lambda v: v == model.task, "turns": lambda v: v in turns, "tokensUsed": lambda v: v in tokens, "messages": lambda v: v in messages}
    for key, fits in wanted.items():
        if not fits(found.get(key)):
            slip("fields", f"{key}: {shown(found.get(key))}", tr("{key} as it is at that moment, {value}", key=key, value=shown(
                {"version": 1, "task": model.task, "turns": turns[-1], "tokensUsed": requests * sum(USAGE.values()), "messages": messages[-1]}[key])))


def _refused(answer, path, value, what):
    put(path, value).close()
    ended = answer.process.call("load_checkpoint", path)
    if fault := no_own_error(answer, ended, "load_checkpoint"):
        slip(_hint(answer, ended, "shape"), f"{what}: {fault}", tr("an error that you raise, with a text of your own; let it say what is wrong with the file"),
             tr("The loop goes on with this, and stumbles later, somewhere else, over something that nobody connects with the file.") if ended.status == RETURNED else
             tr("The resume ends, as it should. But the person who wanted it reads what Python stumbled over, and not what is wrong with the file."))


_own = [mark("Which error comes out, and would the person who gets it know what to do?"), mark("Catch it, and raise one of your own with a sentence: what is wrong, where, what to do.")]
EXERCISE = code_exercise(
    "2.2", mark("A loop with two latent failures"),
    (runs("save_checkpoint", "load_checkpoint", "run_loop"),
     because(IN_PLACE, mark("You say what writing in place leads to."), "b", {
         "a": mark("What would the next save need that the process no longer has?"),
         "c": mark("open(path, \"w\") has come back. How large is the file at that moment?"),
         "d": mark("Each save replaces the content. After ten saves, how long is the file?")}),
     because(ONLY_B, mark("You say what saving at Point B only leads to."), "c", {
         "a": mark("When was the file last written, and had the model named the tool by then?"),
         "b": mark("Which write was under way when the process died?"),
         "d": mark("The tool may have sent an e-mail before it died. Is that lost as well?")}),
     round_trip, atomic, runs_through, point_a, point_b, missing, torn, version, shape, unsavable),
    {
        **SAVE_HINTS,
        "because-in-place": [mark("TornWriteLab in lesson 2 kills such a write at every byte. What does it leave?"), mark("What has become of the old content when the first byte of the new one is written?")],
        "because-only-b": [mark("Draw the turn as a line: response, tool, result, save. Kill it during the tool: what was last written, and when?"), mark("What can a second process know of a call that was named after the last save?")],
        "round-trip": [mark("Save, restart the kernel, load, and compare character by character."), mark("Everything that load_checkpoint gives has to come out of the file, each time.")],
        "encoding": [mark("Which of your calls open a file, and which of them say how its text is written down?"), mark("Write and read with encoding=\"utf-8\".")],
        "not-json": [mark("Open the file in an editor. What does it look like, and what would another program make of it?"), mark("json.dump writes it, json.load reads it.")],
        "nothing-saved": [mark("Look into the folder after the call: which file is there?"), mark("The temp file has to get the name of the real one at the end.")],
        "in-place": [mark("From which instant to which is the file on disk neither the old state nor the new one?"), mark("Write everything into a second file beside it, then os.replace(temp, path).")],
        "gap": [mark("For a short time there is no checkpoint at all."), mark("os.replace takes the old file's place by itself. Nothing has to be removed before.")],
        "loop-broken": [mark("Compare your loop with the one you started from, line by line."), mark("Only saves are to be added; request, tool call and messages stay as they were.")],
        "no-point-a": [mark("What does the file say at the moment when the tool starts?"), mark("One more save_checkpoint, after the response has arrived and before the tool runs."), mark("There pendingToolUse is the call: its id, name and input.")],
        "call-form": [mark("Which three keys does a resume need of a call? What stands beside them or around them in your file?"), mark("pendingToolUse is {\"id\": call[\"id\"], \"name\": call[\"name\"], \"input\": call[\"input\"]}, and no list.")],
        "other-call": [mark("A resume has to answer this very call. What does it need to know of it?"), mark("{\"id\": call[\"id\"], \"name\": call[\"name\"], \"input\": call[\"input\"]}")],
        "no-point-b": [mark("The tool is done. Where does the file say so?"), mark("After the result is in messages: save again, with pendingToolUse None.")],
        "fields": [mark("A second process knows nothing but this file. Would it go on with the same state?"), mark("Each save has all six fields, with their values of that moment.")],
        "missing": _own, "torn": [*_own, mark("Test it: write a file, cut it at each byte, load it.")],
        "missing-accepted": [mark("There was no file, and load_checkpoint came back all the same. What does the loop do with what it gives?"), mark("Raise an error of your own with a sentence: what is missing, where, what to do.")],
        "torn-accepted": [mark("A state was asked for and can't be had. Is one that nobody has saved any better?"), mark("In except: raise an error of your own, instead of a return.")],
        "same-words": [mark("Who finds no file can simply start. Who finds a broken one has something to look at first."), mark("Give each of the two an error text of its own.")],
        "version": [mark("Which of your lines refuses this version? It may be another than the one that you wrote for it."), mark("Look at the version before anything else, and put it into the text: f\"… version {checkpoint['version']!r} …\"")],
        "version-accepted": [mark("What tells this file from one that another version of the program wrote?"), mark("In Python True == 1 and 1.0 == 1; compare the type as well."), mark("type(version) is int and version == 1; anything else is refused, and the text has the version in it.")],
        "shape": [*_own, mark("Before you return it: is it a dict, is each of the six keys there, is each of the right type?")],
        "shape-accepted": [mark("load_checkpoint came back with this. Which line of the loop will stumble over it, and when?"),
                           mark("Before you return it: is it a dict, is each of the six keys there, is each of the right type? pendingToolUse is a dict or None."), mark("If not: raise an error of your own that names what is wrong.")],
        "unsavable": [mark("At which moment does json find out that it can't write this, and what has happened to the file by then?"), mark("json.dumps first, and only then open a file.")],
    },
    questions=(IN_PLACE, ONLY_B))
