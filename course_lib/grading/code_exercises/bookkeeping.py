"""What 4.2 and 6.2 both ask of a run_tool_uses: run the tool, then put its real result into the ledger, at once and never before."""
import json

from ...words import mark, tr
from ..driver import Fails
from .answer import criterion, read, shown, slip
from .fakes import Tools, block, kill, tells

LEDGER_HINTS = {
    "unpaired": [mark("The API wants a tool_result for each tool_use, under its id, in the same order."), mark("Which blocks does your loop skip without appending anything?")],
    "shape": [mark("Open effects.json in an editor: it should be one JSON object with an entry for each id.")],
    "content-form": [mark("What may stand in the content of a tool_result, and what did the tool return?"), mark("as_text in the cell makes text of whatever a tool gives: \"content\": as_text(output)")],
    "not-run": [mark("Follow one block through your loop: where is tools[block[\"name\"]] called, and how often?"), mark("The ledger is empty here, so this call has to run, and once.")],
    "other-result": [mark("What did the tool return, and what do you put into content?"), mark("\"content\": as_text(output)")],
    "no-entry": [mark("The tool has run. What is on disk that says so?"), mark("After the tool has returned: put an entry under block[\"id\"] into the dict, and save it."),
                 mark("effects[block[\"id\"]] = {\"name\": …, \"result\": output, \"at\": …}, then save_effects(effects_path, effects)")],
    "placeholder": [mark("A resume will hand the entry's result to the model. Is it what the tool said?"), mark("The entry needs the name of the tool and the very value that the tool returned.")],
    "late": [mark("Two calls in one response, killed during the second. What does the ledger say of the first?"), mark("Save inside of the loop, right after each tool, not once at its end.")],
    "too-early": [mark("Kill it, in your head, between the entry and the tool. What does the ledger claim?"), mark("An entry says \"this happened, and this was its result\". Before the tool has returned nobody can say either."),
                  mark("First output = tools[…](…), then the entry, then save_effects.")],
    "failure-recorded": [mark("The tool raised an error. Did its effect happen?"), mark("Keep the lines that record out of reach of the error: after the call, not in a finally.")],
}


def file(folder):
    return folder / "effects.json"


def yes(*_, **__):
    """A person at the approval gate who approves whatever it is."""
    return True


def a_call(answer, name="create_ticket"):
    """A tool_use block with an id and words of its own."""
    return block(answer.id(), name, {"title": answer.word(), "body": answer.word()})


def a_ticket(answer):
    """What create_ticket gives."""
    return {"id": f"T-{answer.random.randrange(100, 1000)}", "title": answer.word()}


def run(answer, folder, content, tools, scenario=None, approve=yes, child=None):
    """The tool_result blocks that run_tool_uses gives."""
    ended = (child or answer.process).call("run_tool_uses", content, tools.fakes(), effects_path=file(folder), approve=approve)
    given = answer.got(ended, "run_tool_uses", scenario)
    ids = [b.get("tool_use_id") if isinstance(b, dict) else None for b in given] if isinstance(given, list) else None
    wanted = [b["id"] for b in content if b["type"] == "tool_use"]
    if ids != wanted or any(b.get("type") != "tool_result" for b in given):
        slip("unpaired", shown(given), tr("a list with one tool_result for each tool_use, in the same order, under the same ids: {ids}", ids=", ".join(wanted)))
    for content in [b.get("content", "") for b in given]:
        if not (isinstance(content, str) or isinstance(content, list) and all(map(_is_block, content))):
            slip("content-form", tr("content is {value}", value=shown(content)), tr("content is text, or a list of blocks such as {block}", block='{"type": "text", "text": "…"}'),
                 tr("The API takes nothing else there. It refuses the next request with an error 400, and the run has come to its end."), scenario)
    return given


def _is_block(value):
    return isinstance(value, dict) and isinstance(value.get("type"), str) and (value["type"] != "text" or isinstance(value.get("text"), str))


def ledger(folder):
    """What stands in effects.json: a dict, empty where there is no file."""
    data = read(file(folder))
    if data is None:
        return {}
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        slip("shape", shown(data.decode("utf-8", "replace")), tr("effects.json holds one JSON object: tool_use_id → entry"))
    return found


@criterion("runs_once", mark("A new call runs once, and its result is the tool_result."))
def runs_once(answer):
    call, ticket = a_call(answer), a_ticket(answer)
    tools = Tools({"create_ticket": ticket})
    given = run(answer, answer.folder(), [{"type": "text", "text": "One moment."}, call], tools)[0]
    if tools.ran != [("create_ticket", call["input"])]:
        slip("not-run", tr("create_ticket ran {n} times; its inputs: {inputs}", n=len(tools.ran), inputs=shown([i for _, i in tools.ran])),
             tr("it runs once, with the block's input: {input}", input=shown(call["input"])))
    if not tells(given.get("content"), ticket) or given.get("is_error"):
        slip("other-result", shown(given), tr("content is what the tool gave: {value}", value=shown(ticket)))


def recorded(policy):
    """The criterion; policy: task, tool and policy of the runs that CrashLab shows."""
    @criterion("recorded", mark("As soon as a tool has succeeded its real result is in the ledger, under the block's id."))
    def check(answer):
        folder, first, second = answer.folder(), a_call(answer), a_call(answer, "send_email")
        ticket, at_second, incident = a_ticket(answer), [], f"{policy}/after-tool:2"
        tools = Tools({"create_ticket": ticket, "send_email": "sent"}, asked=lambda name: name == "send_email" and at_second.append(ledger(folder)))
        run(answer, folder, [first, second], tools, incident)
        entry = ledger(folder).get(first["id"])
        story = tr("create_ticket ran and opened {id}. Then the process died, before the result came into messages. "
                   "The resume looks into effects.json, and there is nothing that tells it so.", id=ticket["id"])
        if entry is None:
            slip("no-entry", tr("the entries' ids are {ids}", ids=", ".join(ledger(folder)) or "–"), tr("an entry under {id}", id=first["id"]), story, incident)
        if not isinstance(entry, dict) or entry.get("name") != "create_ticket" or not tells(entry.get("result"), ticket):
            slip("placeholder", tr("the entry under {id} is {entry}", id=first["id"], entry=shown(entry)),
                 tr("the entry is {form}", form=shown({"name": "create_ticket", "result": ticket})) + tr("; other keys beside them are yours"),
                 _told_by(entry, ticket), f"{policy}/after-effect-write:2")
        if not at_second or first["id"] not in at_second[0]:
            slip("late", tr("two calls in one response: when the second one began, the first one's entry was not on disk"),
                 tr("the entry is written at once, before anything else is begun"), story, incident)
    return check


def _told_by(entry, ticket):
    """What comes of an entry that lacks something."""
    if not isinstance(entry, dict) or "result" not in entry:
        return tr("A program reads the ledger after a crash and looks for an entry's result, under the key result. There is nothing, so it can't answer the call.")
    if not tells(entry["result"], ticket):
        return tr("A resume finds the entry and hands its result to the model, which then works on with something that the tool never said.")
    return tr("After a crash somebody reads the ledger to see what has happened. This entry doesn't say that it was create_ticket.")


def after_success(policy):
    """The criterion; policy as for recorded."""
    @criterion("after_success", mark("Nothing is in the ledger before the tool has succeeded."))
    def check(answer):
        folder, call = answer.folder(), a_call(answer)
        with answer.child() as child:
            child.call("run_tool_uses", [call], Tools({"create_ticket": {}}, asked=kill).fakes(), effects_path=file(folder), approve=yes)
        if call["id"] in ledger(folder):
            slip("too-early", tr("killed before create_ticket did anything, effects.json has {entry}", entry=shown(ledger(folder)[call["id"]])),
                 tr("no entry for {id}", id=call["id"]),
                 tr("The entry was written, then the process was killed, and no ticket was opened. "
                    "The resume finds the entry and takes the call for done: the ticket is lost."), f"{policy}/mid-tool:1")
        folder, call = answer.folder(), a_call(answer)
        down = Tools({"create_ticket": Fails("the ticket system is down")})
        answer.process.call("run_tool_uses", [call], down.fakes(), effects_path=file(folder), approve=yes)  # an error or an is_error: both will do
        if call["id"] in ledger(folder):
            slip("failure-recorded", tr("create_ticket failed, and effects.json has {entry}", entry=shown(ledger(folder)[call["id"]])),
                 tr("no entry for {id}: an entry says that it happened", id=call["id"]),
                 tr("The ticket system was down and the call failed. A later resume finds an entry under its id and never tries again."))
    return check
