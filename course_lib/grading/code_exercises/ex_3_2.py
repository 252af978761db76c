"""Exercise 3.2: two identical e-mails; a reconcile that runs everything again. (lesson 3)"""
from ...transcript import check_transcript
from ...words import mark, tr
from ..driver import RAISED, Fails
from ..exercise import Question
from .answer import because, code_exercise, criterion, runs, shown, slip
from .fakes import Tools, block, kill, tells

POLICY = "support-desk/send_email/no-ledger"
SENT_TWICE = f"{POLICY}/after-tool:2"
AWAY = "the disk is away"
# Names that tell nothing: what a tool does is what it says of itself.
READS = {"read_file": {"read_only": True}, "send_statistics": {"read_only": True}}
CHANGES = {"send_email": {}, "read_and_delete_mail": {}}
CAUSE = Question("cause", mark("A customer got the same e-mail twice, after the process had been killed for lack of memory. Why?"), {
    "a": mark("The model asked for the e-mail twice."),
    "b": mark("The checkpoint was torn, so the task began anew."),
    "c": mark("The resume ran a pending call again, though nothing said whether it had run already."),
    "d": mark("The mail system sent it twice by itself.")})
TOLD = Question("told", mark("Nothing says whether a pending e-mail went out. What should the answer to its call tell the model?"), {
    "a": mark("Nothing: a call from before the crash needs no answer."),
    "b": mark("That nobody knows, so that it looks or asks before it goes on."),
    "c": mark("That it went out, so that the customer gets it once at most."),
    "d": mark("That it failed, so that the model can try again.")})


def scene(answer, name, pending=True):
    """A checkpoint that a crash left at Point A, its last turn a call without an answer; at Point B without pending."""
    call = {"id": answer.id(), "name": name, "input": {"to": answer.word(), "text": answer.word()}}
    messages = [{"role": "user", "content": "Tell the customer."}, {"role": "assistant", "content": [{"type": "text", "text": "I do."}, block(**call)]}]
    if not pending:
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": "ok"}]})
    return {"version": 1, "task": "Tell the customer.", "turns": 1, "tokensUsed": 120, "messages": messages, "pendingToolUse": call if pending else None}


def reconciled(answer, checkpoint, tools, scenario=None):
    ended = answer.process.call("reconcile", checkpoint, tools.fakes(), effects_path=answer.folder() / "effects.json")
    if ended.status == RAISED and AWAY in ended.text:
        slip("error-out", answer.words(ended, "reconcile"), tr("an is_error result that tells the model what went wrong"),
             tr("The file could not be read, which may happen at any time. The tool's error went straight through reconcile, and the resume ended with it: the model never hears that it should try another way."))
    return answer.got(ended, "reconcile", scenario)


def paired(answer, checkpoint, tools, scenario=None):
    """The same; it has to be the answer to the pending call, and one that the API takes."""
    given, id = reconciled(answer, checkpoint, tools, scenario), checkpoint["pendingToolUse"]["id"]
    if not isinstance(given, dict) or given.get("type") != "tool_result":
        slip("no-result", shown(given), tr("a tool_result block for {id}", id=id), tr("The conversation goes to the API with a tool_use that nobody answered, and comes back with a 400."), scenario)
    if given.get("tool_use_id") != id:
        slip("other-id", shown(given), tr("a tool_result with tool_use_id {id}", id=id),
             tr("With this answer at its end the conversation is refused: each call needs a result under its own id, in the very next message."), scenario)
    if given.get("is_error") is True:
        _has_text(given)
    for breach in check_transcript([*checkpoint["messages"], {"role": "user", "content": [given]}])[:1]:
        slip("not-taken", f"{shown(given)} – {breach['text']}", tr("a tool_result that the API takes"), tr("With this answer at its end the conversation is refused, and the run has come to its end."), scenario)
    return given


@criterion("reads", mark("A pending call to a tool that only reads runs once more, and its result is the answer."))
def reads(answer):
    for name in READS:
        checkpoint, value = scene(answer, name), answer.word()
        tools = Tools({name: value, "send_email": "sent"}, {**READS, **CHANGES})
        given = paired(answer, checkpoint, tools)
        if tools.ran != [(name, checkpoint["pendingToolUse"]["input"])]:
            slip("reads-not-once", tr("pending was {name}, which is read_only; the tools that ran: {ran}; the answer: {value}", name=name, ran=shown([ran for ran, _ in tools.ran]), value=shown(given)),
                 tr("{name} runs, once, with the pending input", name=name), tr("A call that only looks can be made again without harm. Without it the model has to ask for it anew."))
        if given.get("is_error") or not tells(given.get("content"), value):
            slip("reads-other-result", shown(given), tr("content is what the tool gave: {value}", value=shown(value)))


@criterion("never_again", mark("A pending call to any other tool is never run again."))
def never_again(answer):
    for name in CHANGES:
        checkpoint, tools = scene(answer, name), Tools({name: "done", "read_file": "text"}, {**READS, **CHANGES}, asked=lambda asked: asked in CHANGES and kill())
        with answer.child() as child:  # killed, should the tool be asked for: that is what the incident was
            child.call("reconcile", checkpoint, tools.fakes(), effects_path=answer.folder() / "effects.json")
        if set(tools.wanted) & CHANGES.keys():
            slip("ran-again", tr("pending was {name}, and it was called", name=name), tr("no tool that changes something is called"),
                 tr("The process died right after {name} had done its work. The resume found the call pending and made it again: it has happened twice.", name=name), SENT_TWICE)


@criterion("unknown", mark("There the answer is an is_error result with a text, since nobody knows whether it happened. (What your text says is not checked.)"))
def unknown(answer):
    for name in CHANGES:
        given = paired(answer, scene(answer, name), Tools({name: "done"}, CHANGES), SENT_TWICE)
        if given.get("is_error") is not True:
            slip("no-error", shown(given), tr("is_error is true"), tr("The model reads this as a success, and goes on as if {name} had happened. Perhaps it has not.", name=name), f"{POLICY}/after-save-a:2")
        _has_text(given)


@criterion("failing_read", mark("A reading tool that fails gives an is_error result, not a crash, and its text is not the one for a call of which nobody knows."))
def failing_read(answer):
    failed, open_still = scene(answer, "read_file"), scene(answer, "send_email")
    given = paired(answer, failed, Tools({"read_file": Fails(AWAY)}, READS))
    if given.get("is_error") is not True:
        slip("failure-hidden", shown(given), tr("is_error is true, since read_file failed"))
    _has_text(given)
    unknown = paired(answer, open_still, Tools({"send_email": "sent"}, CHANGES))
    _has_text(unknown)
    if _said_of_any(given, failed) == _said_of_any(unknown, open_still):
        slip("same-text", tr("read_file failed, and of send_email nobody knows; the model reads in both cases: {words}", words=shown(given["content"])), tr("a text for each of the two"),
             tr("The model can't tell a call that failed from one that may have happened. The first it can simply make again; the second perhaps not."))


@criterion("nothing_pending", mark("With nothing pending there is nothing to answer, and nothing runs."))
def nothing_pending(answer):
    tools = Tools({"read_file": "text", "send_email": "sent"}, {**READS, **CHANGES})
    given = reconciled(answer, scene(answer, "read_file", pending=False), tools)
    if given is not None or tools.ran:
        slip("invents", tr("it gave {value}, and {n} tools ran", value=shown(given), n=len(tools.ran)), tr("None, and no tool runs"),
             tr("The last save was Point B: every call has its answer. One more answer belongs to no call, and the API refuses it."))


def _has_text(given):
    if not isinstance(given.get("content"), str) or not given["content"].strip():
        slip("says-nothing", shown(given), tr("content is a text; let it tell the model what is known"))


def _said_of_any(given, checkpoint):
    """A result's text without what differs from call to call."""
    call = checkpoint["pendingToolUse"]
    for own in (call["name"], call["id"], *call["input"].values()):
        given = {**given, "content": given["content"].replace(own, "…")}
    return given["content"]


EXERCISE = code_exercise(
    "3.2", mark("Two identical e-mails"),
    (runs("reconcile"),
     because(CAUSE, mark("You name the root cause."), "c", {
         "a": mark("Two requests of the model would stand in messages. How many tool_use blocks does the checkpoint hold?"),
         "b": mark("A torn checkpoint stops the resume. Did it stop here?"),
         "d": mark("The journal of the mail system shows two requests from us. Who made the second?")}),
     because(TOLD, mark("You say what the model has to be told of a call of which nobody knows."), "b", {
         "a": mark("messages ends with a tool_use. What does the API say to a request that leaves it so?"),
         "c": mark("Suppose the process died before the tool did anything. Who sends the e-mail then?"),
         "d": mark("Suppose the e-mail is out. What will the model do, once it has read that?")}),
     reads, never_again, unknown, failing_read, nothing_pending),
    {
        "because-cause": [mark("Go through it step by step: the e-mail went out, the process died, the resume began. What did it find in checkpoint.json?"),
                          mark("pendingToolUse says that a call was named. Does it say that it ran?")],
        "because-told": [mark("Take both cases, the e-mail out and the e-mail not out, and read your line as the model. What does it do in each?"),
                         mark("It can look, or ask a person. It does so only if it knows that there is something to find out.")],
        "no-result": [mark("Which paths through reconcile end without a return?"), mark("Whatever is known, a pending call gets a dict with type tool_result.")],
        "other-id": [mark("How does the API know which call a result belongs to?"), mark("tool_use_id is the pending call's id, as it stands in the checkpoint.")],
        "not-taken": [mark("Read the sentence behind the dash: of which key of your result does it speak?"), mark("content is a text or a list of blocks; is_error is True, or is not there.")],
        "reads-not-once": [mark("What can go wrong if a file is read a second time?"), mark("Ask the tool, not its name: tool.read_only."), mark("if tool.read_only: run it, once, and give its result.")],
        "reads-other-result": [mark("The model asked for this tool's output. Is that what it gets?"), mark("\"content\": tool(pending[\"input\"])")],
        "ran-again": [mark("Can you tell from the checkpoint whether the e-mail is out?"), mark("If you can't know and it must not happen twice, there is one thing left that does no harm."),
                      mark("Where tool.read_only is not true, don't call the tool: give an is_error result.")],
        "no-error": [mark("What will the model believe after reading this result?"), mark("\"is_error\": True")],
        "says-nothing": [mark("The model can ask somebody or look it up. What does it have to know for that?"), mark("Say which call it was, that its outcome is unknown, and that it was not run again.")],
        "same-text": [mark("Read both texts as the model does. After which of them may it simply try again?"), mark("The one says what went wrong; the other that nobody knows whether the call happened.")],
        "error-out": [mark("The error is the tool's, not yours. What should the model hear when reading fails?"), mark("try around the tool's call; in the except a result with is_error True and what went wrong as its content.")],
        "failure-hidden": [mark("The tool failed and the result says it did not."), mark("In the except branch the result needs is_error as well.")],
        "invents": [mark("pendingToolUse is null: what is there to answer?"), mark("if pending is None: return None, before anything else.")],
    },
    questions=(CAUSE, TOLD))
