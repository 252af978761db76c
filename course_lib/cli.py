"""The command ``course``: open the lessons in JupyterLab, or watch a crash and a resume.

``python3 run.py`` makes the environment and then comes here, ``uv run course`` comes here at
once, so each command has one home. Nothing but the standard library is imported until a
command needs more.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from course_lib.errors import CourseError

ROOT = Path(__file__).resolve().parents[1]      # the course is installed in place, beside its notebooks
LESSON = "notebooks/en/index.ipynb"     # the page that leads to all of them
PRINT_AND_END = {"--help-all", "--version", "--generate-config"}    # JupyterLab's options that open nothing
CRASH_AFTER = "after-effect-write:3"


def main(argv=None):
    parser = build_parser()
    args, rest = parser.parse_known_args(with_default(sys.argv[1:] if argv is None else argv))
    if rest and not args.takes_more:
        parser.error(f"{args.command} does not know {' '.join(rest)}; see course {args.command} --help.")
    try:
        return args.run(rest if args.takes_more else args)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:       # while a command starts or ends; JupyterLab handles its own
        return 130


def build_parser():
    parser = argparse.ArgumentParser(
        prog="course", allow_abbrev=False,
        description="AI agents that survive being killed: the lessons as notebooks. Without a command: lab.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add(commands, "lab", lab, "open the lessons in JupyterLab", takes_more=True,
        more="What follows lab goes to JupyterLab, for example: course lab --port 9000")
    add(commands, "demo", demo, "kill an agent in the middle of its work and resume it, in the terminal")
    command = add(commands, "doctor", doctor, "tell what the Messages API would refuse in a conversation, and mend it",
                  more="Exit code: 0 for a sound conversation, 1 for one with breaches, 2 for a file that can't be read.")
    command.add_argument("file", metavar="FILE", help="the messages of a request, a checkpoint.json, or a session in JSON Lines")
    command.add_argument("--out", metavar="FILE", help="write the mended messages there; the first file stays as it is")
    return parser


def add(commands, name, run, help, *, takes_more=False, more=None):
    command = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".",
                                  epilog=more, allow_abbrev=False)
    command.set_defaults(run=run, takes_more=takes_more)
    return command


def with_default(argv):
    """``course`` and ``course --port 9000`` mean lab; ``course --help`` stays what it is."""
    first = argv[0] if argv else "--"
    return ["lab", *argv] if first.startswith("-") and first not in ("-h", "--help") else list(argv)


# --- lab ---------------------------------------------------------------------------------

def lab(jupyter_args):
    if not (ROOT / LESSON).exists():
        raise CourseError(f"{LESSON} is not in {ROOT}: install the course in place, with `pip install -e .` "
                          "in its folder, so that it finds its notebooks.")
    os.environ.update(lab_environment(os.environ))
    from jupyterlab.labapp import LabApp        # late: it costs a second, and only lab needs it
    if PRINT_AND_END & set(jupyter_args):
        return LabApp.launch_instance(jupyter_args)
    server = LabApp.initialize_server(lab_arguments() + jupyter_args)
    print("JupyterLab is running. To stop it, press Ctrl-C here twice.")
    if not server.open_browser:
        print("No browser is opened from here: copy the address into one.")
    if not server.identity_provider.token_generated:
        # Jupyter shows the address only with a token of its own making, not where a password is set.
        print(server.display_url)
    sys.stdout.flush()
    server.start()


def lab_environment(environ):
    """Settings for Jupyter: a notebook's ``python3`` is the Python that has course_lib.

    A kernel of that name elsewhere (other courses and tools leave one in the home folder)
    would win in some set-ups; the first place on JUPYTER_PATH wins in all of them.
    """
    ours = str(Path(sys.prefix, "share", "jupyter"))
    return {"JUPYTER_PATH": os.pathsep.join(filter(None, [ours, environ.get("JUPYTER_PATH")]))}


def lab_arguments():
    """The repository as file tree, the lesson open: `jupyter lab LESSON` would show its folder alone."""
    arguments = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url=/lab/tree/{LESSON}",
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
        print("An agent works on a three-step task and is killed right after step 3 took effect:\n")
        code = show(["--dir", folder], CRASH_AFTER=CRASH_AFTER)
        print(f"(exit code {code})\n\nStarted again, it reads what is on disk and finishes; step 3 is not done twice:\n")
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
    from course_lib.log import plain
    sys.stdout.reconfigure(errors="backslashreplace")   # a terminal without the sign still gets the line
    try:
        code = visit(args.file, args.out)
        sys.stdout.flush()
        return code
    except CourseError as error:
        print(plain(str(error)), file=sys.stderr)
        return 2
    except BrokenPipeError:     # as in: course doctor FILE | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main())
