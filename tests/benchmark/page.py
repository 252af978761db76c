"""The page of the figures, made from the data and from nothing else."""
from math import floor, log10

from rivals import OURS

HEAD = """\
# What a history costs

A history that keeps every turn is worth having only if it is cheap to write. Here is `history.jsonl`, as
[lesson 5](../notebooks/en/lesson_5.ipynb) uses it, beside other ways to keep an agent's turns. Everyone gets the same turns, {input} and {result} bytes a
turn of tool input and result, makes each save as durable as it can, and has to give the same conversation back.

{machine}. {rounds}, all in one run, in an order shuffled anew each round, each measurement in a process of its
own. Measured {date} with

```
{command}
```

The same figures as data are in `course_lib/figures/history.json`. {versions}

Times depend on the machine, and those of syncs on what else it does. Read the ratios, the syncs and the bytes.
"""
KEY = """
*Seconds* is the median, *best* the fastest round, *ratio* the medians' ratio to `history.jsonl`. *Written* is what went to the system's write calls, *on disk* what
was left after closing.
"""
BACK = """
## Back to the middle of {turns} turns

*Resume* gives the latest conversation, *rewind* the one at half of the turns. *Fork* begins a branch there, with that turn looked at before, and adds
*bytes*. *Go back* makes the next resume go on from there.

| | resume | rewind | fork | bytes | go back |
|---|---|---|---|---|---|
"""
WALK = """
In brackets: for those who don't know which step it was, walking back through the history until the turn is found.
"""


def render(data):
    """The page as text. data: what compare.py writes."""
    numbers = sorted({int(number) for rival in data["rivals"].values() for number in rival["turns"]})
    parts = [_head(data), *(_turns(data, str(number)) for number in numbers), KEY,
             *(_back(data, str(number)) for number in numbers[-2:]), "\n## Who is who\n\n",
             *(f"- **{rival['title']}**: {rival['note']}\n" for rival in data["rivals"].values())]
    return "".join(parts)


def _head(data):
    machine = data["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    return HEAD.format(
        input=number(data["turn"]["input_bytes"]), result=number(data["turn"]["result_bytes"]), date=data["date"], command=data["command"],
        machine="{system}, {file_system}, {cores} cores, load {load} at the start, Python {python}, SQLite {sqlite}".format(**machine),
        rounds="One round" if data["rounds"] == 1 else f"{data['rounds']} rounds",
        versions=f"Versions: {packages}." if packages else "No other library was installed.")


def _turns(data, turns):
    lines = [f"\n## {int(turns):,} turns\n\n| | seconds | best | ratio | CPU seconds | syncs a turn | written | on disk |\n|---|---|---|---|---|---|---|---|\n"]
    ours = data["rivals"][OURS]["turns"][turns]["seconds"]["median"]
    for rival in data["rivals"].values():
        figures = rival["turns"].get(turns)
        if figures:
            seconds = figures["seconds"]
            lines.append(_row(rival["title"], number(seconds["median"]), number(seconds["minimum"]), number(seconds["median"] / ours, 2), median(figures["cpu"], number),
                              "–" if rival["syncs_a_turn"] is None else f"{rival['syncs_a_turn']:.4g}", median(figures["written"], size), median(figures["disk"], size)))
    return "".join(lines)


def _back(data, turns):
    rows = [(rival["title"], rival["turns"][turns]) for rival in data["rivals"].values() if turns in rival["turns"]]
    lines = [_row(title, median(figures["resume"], time), median(figures["rewind"], time) + (f" ({median(figures['walk'], time)})" if figures["walk"] else ""),
                  median(figures["fork"], time), median(figures["fork_bytes"], size), median(figures["go_back"], time)) for title, figures in rows]
    return BACK.format(turns=f"{int(turns):,}") + "".join(lines) + (WALK if any(figures["walk"] for _, figures in rows) else "")


def _row(*cells):
    return f"| {' | '.join(cells)} |\n"


def median(figure, form):
    return "–" if figure is None else form(figure["median"])


def number(value, digits=3):
    """To a few digits, never in powers of ten: 0.00712, 1.25, 13.9, 5,000."""
    if value == 0:
        return "0"
    places = max(digits - 1 - floor(log10(value)), 0)
    return f"{value:,.{places}f}"


def time(seconds):
    return f"{number(seconds)} s" if seconds >= 1 else f"{number(seconds * 1000)} ms"


def size(count):
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            break
        count /= 1000
    else:
        unit = "GB"
    return f"{number(count)} {unit}"
