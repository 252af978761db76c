"""The command ``course``: open the lessons in JupyterLab, or watch a crash and a resume.

``python3 run.py`` makes the environment and then comes here, ``uv run course`` comes here at
once, so each command has one home. Nothing but the standard library is imported until a
command needs more.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.words import language_in_use, language_of_the_system, languages, tr, use_language

ROOT = Path(__file__).resolve().parents[1]      # the course is installed in place, beside its notebooks
LESSON = "notebooks/en/index.ipynb"     # the page that leads to all of them; see landing_page for other languages
PRINT_AND_END = {"--help-all", "--version", "--generate-config"}    # JupyterLab's options that open nothing
CRASH_AFTER = "after-effect-write:3"


def main(argv=None):
    argv = with_default(sys.argv[1:] if argv is None else argv)
    use_language(asked_language(argv))
    parser = build_parser()
    try:
        with printing():
            args, rest = parser.parse_known_args(argv)
        if rest and not args.takes_more:
            parser.error(tr("{command} does not know {rest}; see course {command} --help.", command=args.command, rest=" ".join(rest)))
        return args.run(rest if args.takes_more else args)
    except CourseError as error:
        return complain(error)
    except BrokenPipeError:     # who read it has gone, as in: course progress | head -1
        discard_output()
        return 1
    except KeyboardInterrupt:       # while a command starts or ends; JupyterLab handles its own
        return 130


@contextmanager
def printing():
    """For whatever is printed inside: it arrives before the block is left. Raises BrokenPipeError where nobody reads it any more, CourseError where it can't be written."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        discard_output()
        raise CourseError(tr("What this command has to say can't be written to its output: {why}.", why=error.strerror or error)) from error


def discard_output():
    """What is left over in standard output goes nowhere; Python would try to write it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(error, code=1):
    """Say what went wrong, on standard error. Gives the exit code."""
    from course_lib.log import plain
    sys.stderr.reconfigure(errors="backslashreplace")
    print(plain(str(error)), file=sys.stderr)
    return code


def asked_language(argv):
    """What --lang asks for, wherever it stands, else what the system does: known before the parser and its words are made."""
    parser = argparse.ArgumentParser(prog="course", add_help=False, allow_abbrev=False)
    parser.add_argument("--lang", choices=languages(), default=language_of_the_system())
    return parser.parse_known_args(argv)[0].lang


def build_parser():
    parser = argparse.ArgumentParser(
        prog="course", allow_abbrev=False,
        description=tr("AI agents that survive being killed: the lessons as notebooks. Without a command: lab."))
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add(commands, "lab", lab, tr("open the lessons in JupyterLab"), takes_more=True,
        more=tr("What follows lab goes to JupyterLab, for example: course lab --port 9000"))
    add(commands, "demo", demo, tr("kill an agent in the middle of its work and resume it, in the terminal"))
    command = add(commands, "doctor", doctor, tr("tell what the Messages API would refuse in a conversation, and mend it"),
                  more=tr("Exit code: 0 for a sound conversation, 1 for one with breaches, 2 for a file that can't be read."))
    command.add_argument("file", metavar="FILE", help=tr("the messages of a request, a checkpoint.json, or a session in JSON Lines"))
    command.add_argument("--out", metavar="FILE", help=tr("write the mended messages there; the first file stays as it is"))
    command = add(commands, "check", check, tr("check an answer to an exercise"),
                  more=tr("Exit code: 0 for a correct answer, 1 for one that is not, 2 where it could not be checked."))
    command.add_argument("exercise", metavar="EXERCISE", help=tr("its number, such as 4.2"))
    command.add_argument("file", metavar="FILE", help=tr("a program, or for a form a dict in Python or JSON"))
    command = add(commands, "hint", hint, tr("give one hint more on what the last check of an exercise found"))
    command.add_argument("exercise", metavar="EXERCISE", help=tr("its number, such as 4.2"))
    command = add(commands, "solution", solution, tr("show a worked answer to an exercise, once an answer of your own has been checked"))
    command.add_argument("exercise", metavar="EXERCISE", help=tr("its number, such as 4.2"))
    command = add(commands, "reset", reset, tr("forget what was done in an exercise, and begin it anew"))
    command.add_argument("exercise", metavar="EXERCISE", help=tr("its number, such as 4.2"))
    command.add_argument("file", metavar="FILE", nargs="?", help=tr("write there what one begins with; what a file of that name holds is kept beside it, with .old added to the name"))
    add(commands, "progress", progress, tr("tell what has been tried and solved in the exercises"))
    command = add(commands, "grade", grade, tr("check the answers of a whole class, each program in a sandbox"),
                  more=tr("Started again with the same --out it goes on where it was stopped. Exit code: 0 if every answer was checked, 2 if some could not be."))
    command.add_argument("folder", metavar="FOLDER", help=tr("notebooks, .py or .json files, one for each student or in a folder for each"))
    command.add_argument("--out", metavar="REPORT", required=True, help=tr("the folder for report.html, results.csv, students.csv and what has been graded so far"))
    command.add_argument("--unsafe", action="store_true", help=tr("run programs without a sandbox where there is none"))
    command = add(commands, "prove", prove, tr("try every kill, fault and power cut on the course's own library"),
                  more=tr("Exit code: 0 if nothing is lost, 1 if something is. All of it takes some minutes."))
    command.add_argument("--quick", action="store_true", help=tr("a sample, in less than a minute"))
    command.add_argument("--seed", type=int, default=0, metavar="N", help=tr("another sample (default: 0)"))
    return parser


def add(commands, name, run, help, *, takes_more=False, more=None):
    command = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".",
                                  epilog=more, allow_abbrev=False)
    command.add_argument("--lang", choices=languages(), help=tr("the language; without it, the one of the system"))
    command.set_defaults(run=run, takes_more=takes_more)
    return command


def with_default(argv):
    """``course`` and ``course --port 9000`` mean lab; ``course --help`` stays what it is. --lang may stand before a command as well as after it."""
    n = 2 if argv[:1] == ["--lang"] else 1 if argv and argv[0].startswith("--lang=") else 0
    language, argv = argv[:n], argv[n:]
    first = argv[0] if argv else "--"
    command, rest = ("lab", argv) if first.startswith("-") and first not in ("-h", "--help") else (first, argv[1:])
    return [command, *language, *rest]


# --- lab ---------------------------------------------------------------------------------

def lab(jupyter_args):
    if not (ROOT / landing_page()).exists():
        raise CourseError(tr("{page} is not in {folder}: install the course in place, with `pip install -e .` "
                             "in its folder, so that it finds its notebooks.", page=landing_page(), folder=ROOT))
    os.environ.update(lab_environment(os.environ))
    from jupyterlab.labapp import LabApp        # late: it costs a second, and only lab needs it
    if PRINT_AND_END & set(jupyter_args):
        return LabApp.launch_instance(jupyter_args)
    server = LabApp.initialize_server(lab_arguments() + jupyter_args)
    print(tr("JupyterLab is running. To stop it, press Ctrl-C here twice."))
    if not server.open_browser:
        print(tr("No browser is opened from here: copy the address into one."))
    if not server.identity_provider.token_generated:
        # Jupyter shows the address only with a token of its own making, not where a password is set.
        print(server.display_url)
    sys.stdout.flush()
    server.start()


def landing_page():
    """The page that leads to all others, in the language in use."""
    return LESSON.replace("/en/", f"/{language_in_use()}/")


def lab_environment(environ):
    """Settings for Jupyter: a notebook's ``python3`` is the Python that has course_lib; Lab itself speaks the language in use.

    A kernel of that name elsewhere (other courses and tools leave one in the home folder)
    would win in some set-ups; the first place on JUPYTER_PATH wins in all of them.
    """
    settings = {"JUPYTER_PATH": [str(Path(sys.prefix, "share", "jupyter"))]}
    if find_spec(f"jupyterlab_language_pack_{language_in_use()}"):
        settings["JUPYTER_CONFIG_PATH"] = [str(ROOT / "jupyter" / language_in_use())]
    return {name: os.pathsep.join(filter(None, [*ours, environ.get(name)])) for name, ours in settings.items()}


def lab_arguments():
    """The repository as file tree, the lesson open: `jupyter lab LESSON` would show its folder alone."""
    arguments = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url=/lab/tree/{landing_page()}",
                 # What is left on the terminal is the address and real trouble.
                 "--log-level=ERROR", "--LabApp.log_level=ERROR",
                 # Else every kernel warns there that others on this machine could listen.
                 "--KernelManager.transport_encryption=auto"]
    if not has_screen():
        arguments.append("--no-browser")        # else a text browser, if there is one, takes the terminal
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")        # containers and class servers
    return arguments


def has_screen():
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


# --- demo --------------------------------------------------------------------------------

def demo(_):
    with tempfile.TemporaryDirectory(prefix="course-demo-") as folder:
        print(tr("An agent works on a three-step task and is killed right after step 3 has done its work:"), end="\n\n")
        code = show(["--dir", folder], CRASH_AFTER=CRASH_AFTER)
        print(f"(exit code {code})", tr("Started again, it reads what is on disk and finishes; step 3 is not done twice:"), sep="\n\n", end="\n\n")
        return show(["--dir", folder, "--resume"])


def show(arguments, **settings):
    """Print the command as one would type it, then run it."""
    typed = [f"{name}={value}" for name, value in settings.items()] + ["python", "-m", "course_lib", *arguments]
    print("$", *typed, flush=True)
    inherited = {name: value for name, value in os.environ.items() if name != "CRASH_AFTER"}
    return subprocess.call([sys.executable, "-m", "course_lib", *arguments], cwd=ROOT, env={**inherited, **settings})


# --- doctor ------------------------------------------------------------------------------

def doctor(args):
    from course_lib.doctor import visit
    sys.stdout.reconfigure(errors="backslashreplace")   # a terminal without the sign still gets the line
    with printing():
        try:
            return visit(args.file, args.out)
        except CourseError as error:
            return complain(error, 2)


# --- exercises ---------------------------------------------------------------------------

def check(args):
    from course_lib.grading import catalogue, feedback, report
    try:
        found = catalogue.check(args.exercise, text_of(args.file))
    except CourseError as error:
        return complain(error, 2)
    unfinished = found.outcome == report.NOT_ATTEMPTED or found.slip and found.slip.hint == "complete"
    say(*(on_paper(args.exercise) if unfinished else []), feedback.as_text(found), *how_to_open(found.slip))
    return {report.CORRECT: 0, report.UNCHECKED: 2}.get(found.outcome, 1)


def on_paper(id):
    """What stands above an exercise's answer in a notebook, and a line of space."""
    from course_lib.grading import catalogue, sheet
    return [*sheet.sheet(catalogue.exercise(id)), ""]


def how_to_open(slip):
    """Where the run that a check names can be looked at: in a notebook."""
    if not slip or not slip.scenario:
        return []
    return [tr("To look at that run, put these two lines into a notebook of the course:"), "  from course_lib.widgets.crash_lab import CrashLab", f'  CrashLab("{slip.scenario}")']


def text_of(file):
    """A file's text. Raises CourseError."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(tr("{file} can't be read: {why}.", file=file, why=getattr(error, "strerror", None) or tr("it is no text in UTF-8"))) from error


def hint(args):
    from course_lib.grading import catalogue, feedback
    steps, n = catalogue.hint(args.exercise)
    paper = on_paper(args.exercise) if catalogue.exercise(args.exercise).kind == "form" else []      # a program's file says what it is about
    say(*paper, *(f"{number}. {text}" for number, text in enumerate(steps, 1)), feedback.how_many(steps, n))


def solution(args):
    from course_lib.grading import catalogue, sheet
    say(*sheet.worked(catalogue.exercise(args.exercise), catalogue.solution(args.exercise)))


def reset(args):
    from course_lib.grading import catalogue
    starter = catalogue.starter_text(args.exercise)
    written = begin_anew(Path(args.file), starter) if args.file else []
    catalogue.reset(args.exercise)
    say(*on_paper(args.exercise), tr("{exercise} is as if you had never tried it.", exercise=args.exercise), *written)


def begin_anew(file, starter):
    """Put the starter into a file; what it held is kept beside it, under a name that nothing had. Gives the lines that say so. Raises CourseError."""
    from course_lib.storage import StorageError, reason, write_atomic
    if file.is_dir():
        raise CourseError(tr("{file} is a folder; name a file in it, such as {example}. Nothing was reset.", file=file, example=file / "answer.py"))
    lines = [tr("{file} holds what one begins with.", file=file)]
    try:
        if file.exists():
            old = next(name for name in old_names(file) if not os.path.lexists(name))
            shutil.copy2(file, old)
            lines.append(tr("What was in it is in {old} now.", old=old))
        write_atomic(file, starter.encode(), moment="starter")
    except (OSError, StorageError) as error:
        raise CourseError(tr("{file} can't be written: {why}; nothing was reset.", file=file, why=reason(error.__cause__ or error))) from error
    return lines


def old_names(file):
    """file.old, file.old.2, file.old.3 and so on."""
    yield file.with_name(f"{file.name}.old")
    yield from (file.with_name(f"{file.name}.old.{n}") for n in count(2))


def progress(_):
    from course_lib.grading import catalogue, progress
    for id, title, entry in catalogue.kept_progress():
        say(f"{id:8} {title}: {progress.state(entry)}")
    say(tr("Kept in {file}; delete that file to begin anew.", file=progress.path()))


def grade(args):
    from course_lib.grading.classroom import batch, report, submissions
    sys.stderr.reconfigure(errors="backslashreplace")
    try:
        graded = batch.grade(args.folder, args.out, unsafe=args.unsafe, progress=show_progress)
    except KeyboardInterrupt:
        say("", tr("Stopped. What was graded is kept; the same command goes on from there."))
        raise
    files = report.write(graded, args.out)
    left = submissions.passed_over(args.folder, leave_out=(Path(args.out), *files))
    say(report.count(graded), *map(str, files), *report.passed_over(left))
    return 2 if any(found and found.outcome == report.UNCHECKED for _, found in graded) else 0


def show_progress(done, total):
    """On a terminal one line that changes, elsewhere a line for each tenth."""
    live = sys.stderr.isatty()
    if live or done == total or done % max(1, total // 10) == 0:
        print(tr("{done} of {total} answers", done=done, total=total), end="\r" if live and done < total else "\n", file=sys.stderr, flush=True)


def say(*lines):
    """Print text that may come from anywhere: nothing in it moves the cursor, and no character stops it."""
    from course_lib.log import plain
    sys.stdout.reconfigure(errors="backslashreplace")
    with printing():
        print(*(plain(line) for text in lines for line in text.split("\n")), sep="\n")


# --- prove -------------------------------------------------------------------------------

def prove(args):
    from course_lib.proof.prove import prove as try_all     # late: only this command needs it
    return try_all(quick=args.quick, seed=args.seed)


if __name__ == "__main__":
    sys.exit(main())
